//! Cuts fio's output into JSON values and lines of text between them, byte by byte, whatever the chunks.
//!
//! Nothing is ever looked at twice. A value begins at a `{` outside of any value and ends where its braces close;
//! what stands between them is the JSON reader's business. fio prints every status from the first column and indents
//! all that is inside, so a `{` at the start of a line always begins a new value: that is how a broken one is left.

/// Longer values are skipped. A job with every bin of every latency in use is about 0.3 MB, so this is 200 such jobs.
pub const LONGEST_VALUE_BYTES: usize = 64 << 20;

/// So much of a line of text is kept.
const LONGEST_TEXT_BYTES: usize = 200;

/// A piece of the output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// From `{` to its `}`.
    Value(&'a [u8]),
    /// A line outside of values, or its beginning; not blank.
    Text(&'a [u8]),
    /// A value was left for the next one, after so many bytes.
    Interrupted(usize),
    /// A value outgrew the limit.
    TooLong,
    /// The output ended inside a value, after so many bytes.
    CutOff(usize),
}

/// Whether a byte is part of a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Quoted {
    #[default]
    No,
    Yes,
    /// And the byte before it is a backslash.
    Escaped,
}

/// The state between chunks.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// Open braces; 0 outside of values.
    depth: usize,
    quoted: Quoted,
    /// Whether the next byte is the first of its line.
    line_start: bool,
    /// The value so far, or the line of text so far.
    buffer: Vec<u8>,
    /// The value outgrew the limit, so that only its end is sought.
    too_long: bool,
}

impl Splitter {
    /// Takes the next bytes and hands on the pieces that they complete, in order.
    pub fn feed(&mut self, mut data: &[u8], mut take: impl FnMut(Piece<'_>)) {
        while !data.is_empty() {
            let used = if self.depth == 0 {
                self.text(data, &mut take)
            } else {
                self.value(data, &mut take)
            };
            data = &data[used..];
        }
    }

    /// Hands on what is unfinished, and is as new.
    pub fn finish(&mut self, mut take: impl FnMut(Piece<'_>)) {
        if self.depth == 0 {
            self.end_text(&mut take);
        } else if self.too_long {
            take(Piece::TooLong);
        } else {
            take(Piece::CutOff(self.buffer.len()));
        }
        *self = Self::default();
    }

    /// Reads text up to the end of the line or the start of a value.
    fn text(&mut self, data: &[u8], take: &mut impl FnMut(Piece<'_>)) -> usize {
        let stop = data.iter().position(|&byte| byte == b'{' || byte == b'\n');
        let line = &data[..stop.unwrap_or(data.len())];
        let room = LONGEST_TEXT_BYTES.saturating_sub(self.buffer.len());
        // Leading blanks are not kept, so that a line of many blanks doesn't crowd out its text.
        let line = if self.buffer.is_empty() {
            line.trim_ascii_start()
        } else {
            line
        };
        self.buffer.extend_from_slice(&line[..line.len().min(room)]);
        let Some(stop) = stop else {
            return data.len();
        };
        self.end_text(take);
        if data[stop] == b'{' {
            self.begin_value();
        }
        stop + 1
    }

    fn end_text(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        let text = self.buffer.trim_ascii();
        if !text.is_empty() {
            take(Piece::Text(text));
        }
        self.buffer.clear();
    }

    fn begin_value(&mut self) {
        self.buffer.clear();
        self.buffer.push(b'{');
        self.depth = 1;
        self.quoted = Quoted::No;
        (self.line_start, self.too_long) = (false, false);
    }

    /// Reads on inside a value, up to its end or the start of the next one.
    fn value(&mut self, data: &[u8], take: &mut impl FnMut(Piece<'_>)) -> usize {
        for (at, &byte) in data.iter().enumerate() {
            if self.line_start && byte == b'{' {
                self.keep(&data[..at]);
                take(if self.too_long {
                    Piece::TooLong
                } else {
                    Piece::Interrupted(self.buffer.len())
                });
                self.begin_value();
                return at + 1;
            }
            self.line_start = byte == b'\n';
            match (self.quoted, byte) {
                (Quoted::Yes, b'"') => self.quoted = Quoted::No,
                (Quoted::Yes, b'\\') => self.quoted = Quoted::Escaped,
                (Quoted::Escaped, _) | (Quoted::No, b'"') => self.quoted = Quoted::Yes,
                (Quoted::No, b'{') => self.depth += 1,
                (Quoted::No, b'}') => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                self.keep(&data[..=at]);
                take(if self.too_long {
                    Piece::TooLong
                } else {
                    Piece::Value(&self.buffer)
                });
                self.buffer.clear();
                self.line_start = false;
                return at + 1;
            }
        }
        self.keep(data);
        data.len()
    }

    fn keep(&mut self, data: &[u8]) {
        if self.too_long || self.buffer.len() + data.len() > LONGEST_VALUE_BYTES {
            self.too_long = true;
            self.buffer = Vec::new();
        } else {
            self.buffer.extend_from_slice(data);
        }
    }
}
