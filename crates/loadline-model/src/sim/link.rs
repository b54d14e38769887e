//! One direction of a link: bytes pass one after the other, and arrive a latency later.

use super::node::{Agenda, Server};
use super::op::{OpId, Work};
use crate::units::{BytesPerSecond, Time};

/// One direction of a link. Full duplex is two of them; half duplex is one that both directions use.
///
/// First come, first served, one transfer at a time: bytes / rate, rounded up to a nanosecond; the latency after it
/// occupies nobody. The end of a transfer is known when it arrives, so the link keeps no queue, only the time at which
/// its last byte will have left.
#[derive(Debug, Clone)]
pub struct Link {
    rate: BytesPerSecond,
    latency: Time,
    free_at: Time,
    /// All transfer time booked so far.
    booked: Time,
}

impl Link {
    /// A link of `rate`, on whose far end a byte arrives `latency` after it left.
    ///
    /// # Panics
    /// When `rate` is 0.
    pub fn new(rate: BytesPerSecond, latency: Time) -> Self {
        assert!(rate.0 > 0, "a link needs a rate");
        Link {
            rate,
            latency,
            free_at: Time::ZERO,
            booked: Time::ZERO,
        }
    }

    /// How long so many bytes occupy it.
    pub fn transfer(&self, bytes: u64) -> Time {
        let ns = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(self.rate.0));
        Time::from_ns(ns as u64)
    }
}

impl Server for Link {
    #[inline]
    fn arrive(&mut self, op: OpId, work: &Work, agenda: &mut Agenda<'_>) {
        let transfer = match *work {
            Work::Bytes(bytes) => self.transfer(bytes),
            Work::Access { bytes, .. } => self.transfer(u64::from(bytes)),
            Work::Lasting(time) => time,
            Work::Drawn | Work::Flush => Time::ZERO,
        };
        self.free_at = self.free_at.max(agenda.now()) + transfer;
        self.booked += transfer;
        agenda.end(op, self.free_at + self.latency);
    }

    #[inline]
    fn finish(&mut self, _op: OpId, _agenda: &mut Agenda<'_>) {}

    fn servers(&self) -> Option<u32> {
        Some(1)
    }

    fn busy(&self, now: Time) -> Time {
        // It never idles while something waits, so what is left to do is one piece from now on.
        self.booked - self.free_at.saturating_sub(now)
    }
}
