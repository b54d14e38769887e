//! What loads a system: streams, and who of them waits for what.

use super::arrival::{Arrival, Arrivals, thinking};
use super::profile::Profile;
use super::requests::Requests;
use super::rng::Seed;
use crate::Error;
use crate::device::station::{Sampler, Service};
use crate::units::Time;
use std::collections::VecDeque;

/// A part of the load: what I/Os look like, and when they come.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// What they look like.
    pub profile: Profile,
    /// When they come.
    pub arrival: Arrival,
}

/// A stream that is drawn from.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) requests: Requests,
    pub(super) kind: Kind,
}

/// When its I/Os come.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Closed {
        think: Option<Box<Sampler>>,
        burst: u32,
        issuers: u32,
    },
    Open {
        arrivals: Box<Arrivals>,
        most: u32,
        inside: u32,
        waiting: VecDeque<Time>,
    },
}

/// Somebody who waits for an answer or for a time: one for each outstanding I/O of closed streams, one for open ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Issuer {
    pub(super) stream: u32,
    /// Which one of its stream it is.
    pub(super) number: u32,
    /// I/Os before it thinks again.
    pub(super) left: u32,
}

/// The sources of `streams`, stream i at place i, from the time `now` on, and all who wait for their answers.
pub(super) fn sources(
    streams: &[Stream],
    seed: Seed,
    now: Time,
) -> Result<(Vec<Source>, Vec<Issuer>), Error> {
    let (mut sources, mut issuers) = (Vec::new(), Vec::new());
    for (number, Stream { profile, arrival }) in (0u32..).zip(streams) {
        arrival.check("arrival")?;
        let issuer = |issuer, left| Issuer {
            stream: number,
            number: issuer,
            left,
        };
        let kind = match arrival {
            Arrival::Closed {
                outstanding,
                think,
                burst,
            } => {
                let thinks = *think != Service::Deterministic { time: Time::ZERO };
                issuers.extend((0..*outstanding).map(|number| issuer(number, *burst)));
                Kind::Closed {
                    think: thinks.then(|| Box::new(thinking(*think, seed, number))),
                    burst: *burst,
                    issuers: *outstanding,
                }
            }
            Arrival::Open {
                pattern,
                most_outstanding,
            } => {
                issuers.push(issuer(0, 1));
                Kind::Open {
                    arrivals: Box::new(Arrivals::new(*pattern, seed, number, now)),
                    most: most_outstanding.unwrap_or(u32::MAX),
                    inside: 0,
                    waiting: VecDeque::new(),
                }
            }
        };
        sources.push(Source {
            requests: Requests::new(profile, seed, number)?,
            kind,
        });
    }
    Ok((sources, issuers))
}
