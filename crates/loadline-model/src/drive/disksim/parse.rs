//! The general form: `kind name { key = value, ... }`, where a value is a word, a list, a block or `source FILE`.

use crate::Error;

/// Blocks within blocks, and files within files, go no deeper.
const DEEPEST: usize = 32;

/// A disk has some thousand values; a file with more than this is none.
const MOST_VALUES: usize = 1 << 20;

/// Where something stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub file: String,
    pub line: usize,
}

impl Place {
    pub fn error(&self, why: impl Into<String>) -> Error {
        Error::Parameters {
            file: self.file.clone(),
            line: self.line,
            why: why.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub kind: String,
    pub name: String,
    pub entries: Vec<Entry>,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub value: Value,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Word(String),
    List(Vec<(Value, Place)>),
    Block(Block),
}

/// All blocks at the top of a file and of the files that it sources, in their order.
pub fn parse(
    file: &str,
    text: &str,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Vec<Block>, Error> {
    let mut budget = MOST_VALUES;
    parse_file(file, text, read, 0, &mut budget)
}

fn parse_file(
    file: &str,
    text: &str,
    read: &mut dyn FnMut(&str) -> Option<String>,
    depth: usize,
    budget: &mut usize,
) -> Result<Vec<Block>, Error> {
    let mut parser = Parser {
        file,
        rest: text,
        line: 1,
        read,
        depth,
        budget,
    };
    parser.top()
}

struct Parser<'a> {
    file: &'a str,
    rest: &'a str,
    line: usize,
    read: &'a mut dyn FnMut(&str) -> Option<String>,
    depth: usize,
    budget: &'a mut usize,
}

impl Parser<'_> {
    fn place(&self) -> Place {
        Place {
            file: self.file.to_owned(),
            line: self.line,
        }
    }

    fn take(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
    }

    /// Passes blanks and comments; gives the next character.
    fn peek(&mut self) -> Option<char> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if !self.rest.starts_with('#') {
                return self.rest.chars().next();
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end);
        }
    }

    /// Words up to a sign of the form, comments left out, one blank between words.
    fn words(&mut self) -> String {
        let mut words: Vec<String> = Vec::new();
        while self.peek().is_some_and(|c| !is_sign(c)) {
            let end = self
                .rest
                .find(|c: char| c.is_whitespace() || is_sign(c) || c == '#')
                .unwrap_or(self.rest.len());
            words.push(self.rest[..end].to_owned());
            self.take(end);
        }
        words.join(" ")
    }

    fn expect(&mut self, sign: char, what: &str) -> Result<(), Error> {
        match self.peek() {
            Some(c) if c == sign => {
                self.take(sign.len_utf8());
                Ok(())
            }
            Some(c) => Err(self
                .place()
                .error(format!("expected {sign:?} {what}, found {c:?}"))),
            None => Err(self.place().error(format!(
                "expected {sign:?} {what}, found the end of the file"
            ))),
        }
    }

    fn deeper(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.place().error(format!(
                "more than {DEEPEST} blocks, lists or files within each other"
            )));
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Error> {
        match self.budget.checked_sub(1) {
            Some(left) => *self.budget = left,
            None => {
                return Err(self
                    .place()
                    .error(format!("more than {MOST_VALUES} values")));
            }
        }
        Ok(())
    }

    /// Statements at the top: blocks are kept, files sourced, all else (instantiate, topology) is passed over.
    fn top(&mut self) -> Result<Vec<Block>, Error> {
        let mut blocks = Vec::new();
        while let Some(next) = self.peek() {
            if is_sign(next) {
                self.skip_group(next)?;
                continue;
            }
            let place = self.place();
            let first = self
                .rest
                .find(|c: char| c.is_whitespace() || is_sign(c) || c == '#');
            if first.is_some_and(|end| &self.rest[..end] == "source") {
                // The name ends with its line here: no sign need follow a statement.
                self.take("source".len());
                let end = self.rest.find(['\n', '#']).unwrap_or(self.rest.len());
                let file = self.rest[..end].trim().trim_end_matches(',').to_owned();
                self.take(end);
                blocks.extend(self.sourced(&file, &place)?);
                continue;
            }
            let words = self.words();
            if self.peek() == Some('{') {
                let (kind, name) = words.rsplit_once(' ').unwrap_or((&words, ""));
                let kind = kind.rsplit(' ').next().unwrap_or(kind);
                blocks.push(self.block(kind.to_owned(), name.to_owned(), place)?);
            }
        }
        Ok(blocks)
    }

    /// Passes one sign, or a whole bracket that no block began.
    fn skip_group(&mut self, first: char) -> Result<(), Error> {
        let mut open = 0usize;
        let place = self.place();
        loop {
            match self.peek() {
                Some('[' | '{') => open += 1,
                Some(']' | '}') if open == 0 => {
                    return Err(self
                        .place()
                        .error(format!("{first:?} closes what nothing opened")));
                }
                Some(']' | '}') => open -= 1,
                None if open > 0 => return Err(place.error(format!("{first:?} is never closed"))),
                None => return Ok(()),
                _ => {}
            }
            let width = self.rest.chars().next().map_or(0, char::len_utf8);
            self.take(width);
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn sourced(&mut self, file: &str, place: &Place) -> Result<Vec<Block>, Error> {
        self.deeper()?;
        let text = (self.read)(file)
            .ok_or_else(|| place.error(format!("sources {file:?}, which isn't there")))?;
        let blocks = parse_file(file, &text, self.read, self.depth, self.budget)?;
        self.depth -= 1;
        Ok(blocks)
    }

    /// A block from its `{` on.
    fn block(&mut self, kind: String, name: String, place: Place) -> Result<Block, Error> {
        self.deeper()?;
        self.expect('{', "at the start of a block")?;
        let mut entries = Vec::new();
        loop {
            match self.peek() {
                Some('}') => {
                    self.take(1);
                    self.depth -= 1;
                    return Ok(Block {
                        kind,
                        name,
                        entries,
                        place,
                    });
                }
                Some(',') => self.take(1),
                None => return Err(place.error(format!("the block {kind} {name} is never closed"))),
                Some(_) => {
                    self.count()?;
                    let place = self.place();
                    let key = self.words();
                    self.expect('=', &format!("after the key {key:?}"))?;
                    let value = self.value()?;
                    entries.push(Entry { key, value, place });
                }
            }
        }
    }

    fn value(&mut self) -> Result<Value, Error> {
        self.count()?;
        let place = self.place();
        if self.peek() == Some('[') {
            return self.list();
        }
        let words = self.words();
        if self.peek() == Some('{') {
            let (kind, name) = words.split_once(' ').unwrap_or((&words, ""));
            return Ok(Value::Block(self.block(
                kind.to_owned(),
                name.to_owned(),
                place,
            )?));
        }
        if let Some(file) = words.strip_prefix("source ") {
            let mut blocks = self.sourced(file.trim(), &place)?;
            return match blocks.len() {
                1 => Ok(Value::Block(blocks.remove(0))),
                n => Err(place.error(format!("{file:?} should hold one block, but holds {n}"))),
            };
        }
        Ok(Value::Word(words))
    }

    fn list(&mut self) -> Result<Value, Error> {
        self.deeper()?;
        let start = self.place();
        self.expect('[', "at the start of a list")?;
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Some(']') => {
                    self.take(1);
                    self.depth -= 1;
                    return Ok(Value::List(values));
                }
                Some(',') => self.take(1),
                Some(c @ ('}' | '=')) => {
                    return Err(self.place().error(format!("{c:?} within a list")));
                }
                None => return Err(start.error("the list is never closed")),
                Some(_) => {
                    let place = self.place();
                    values.push((self.value()?, place));
                }
            }
        }
    }
}

fn is_sign(c: char) -> bool {
    matches!(c, '{' | '}' | '[' | ']' | ',' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_of(text: &str) -> Result<Vec<Block>, Error> {
        parse("a.parv", text, &mut |name| {
            (name == "b.model").then(|| "dm_disk B { X = 1 }".to_owned())
        })
    }

    #[test]
    fn blocks_lists_comments_and_sourced_files_are_read() {
        let blocks = read_of(
            "# head\ndisksim_disk A {\n Low (write) water mark = 1.0, # why\n Model = source b.model,\n Zones = [ z { a = 1 }, z { a = [] } ]\n}\nsource b.model\ninstantiate [ d ] as A\ntopology x y [ z [] ]\n",
        )
        .unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].entries[0].key, "Low (write) water mark");
        assert_eq!(blocks[0].entries[0].value, Value::Word("1.0".to_owned()));
        assert!(matches!(&blocks[0].entries[1].value, Value::Block(b) if b.name == "B"));
        assert!(matches!(&blocks[0].entries[2].value, Value::List(zones) if zones.len() == 2));
        assert_eq!(blocks[1].kind, "dm_disk");
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        for (text, line) in [
            ("d A {\n X 1\n}", 3),
            ("d A {\n\n", 1),
            ("d A { X = [ 1,\n", 1),
            ("d A { M = source c.model }", 1),
            ("\n}", 2),
        ] {
            let Err(Error::Parameters { file, line: at, .. }) = read_of(text) else {
                panic!("{text} is read")
            };
            assert_eq!((file.as_str(), at), ("a.parv", line), "{text}");
        }
        let deep = "d A { X = ".to_owned() + &"[".repeat(100_000);
        assert!(read_of(&deep).is_err());
    }

    #[test]
    fn a_file_that_sources_itself_is_an_error() {
        assert!(parse("a", "source a\n", &mut |_| Some("source a\n".to_owned())).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ \\n#a-z0-9.{}\\[\\],=]{0,200}") {
            let _ = read_of(&text);
        }

        #[test]
        fn any_characters_are_read_or_refused(text in "\\PC*") {
            let _ = read_of(&text);
        }
    }
}
