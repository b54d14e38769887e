//! The load line of a closed load: the last number outstanding before the first at which the mean response fails a limit.

use super::points::followed_beside;
use super::solver::Solver;
use super::system::{Asked, Point, Solution, in_order};
use crate::Error;
use crate::sim::{Stream, Way};
use crate::simulation::System;
use std::borrow::Cow;

/// A curve goes so far at first where Little's law doesn't say how far the limit can hold, then so many times as far while all of it does.
const FIRST: f64 = 512.0;
const FURTHER: f64 = 4.0;

/// The same of what is followed load by load, each of which takes time.
const FIRST_FOLLOWED: f64 = 32.0;

/// Which loads keep a limit, from the lowest, and the first that doesn't.
type Found = (Vec<bool>, Option<Point>);

/// What solves a load, and looks for saturation as far as another one.
type Solve<'a> = &'a dyn Fn([u32; 2]) -> Result<Solution, Error>;

/// A limit of the mean response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Of the I/Os that go this way; of all if it is `None`.
    pub of: Option<Way>,
    /// The highest response, ns.
    pub bound_ns: f64,
    /// That itself is too much.
    pub strict: bool,
}

/// Numbers outstanding that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loads {
    /// The lowest one, from 1.
    pub low: u32,
    /// The highest one.
    pub high: u32,
    /// From one to the next.
    pub step: u32,
}

/// Where a curve of response against load meets a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadLine {
    /// At the highest load below the first that fails, or at the lowest; without a curve where that doesn't hang on lower loads.
    pub solution: Solution,
    /// The first load that fails; `None` if the limit holds up to the highest.
    pub next: Option<Point>,
    /// Which loads keep the limit, from the lowest as far as it can hold.
    pub kept: Vec<bool>,
    /// About twice the load line: a curve that goes so far shows no load above saturation.
    pub beyond: u32,
}

impl Limit {
    fn holds(&self, point: &Point) -> bool {
        let response_ns = match self.of {
            None => Some(point.response_ns),
            Some(Way::Read) => point.read_response_ns,
            Some(Way::Write) => point.write_response_ns,
        };
        response_ns.is_some_and(|ns| ns < self.bound_ns || !self.strict && ns <= self.bound_ns)
    }

    /// By Little's law no more than so many keep the limit, here with one more, for a station that is alone reaches it; of reads or writes
    /// alone they may.
    fn most(&self, saturation_per_s: f64, think_ns: f64) -> Option<f64> {
        let most = saturation_per_s / 1e9 * (self.bound_ns + think_ns);
        (self.of.is_none() && most.is_finite()).then_some(most + 1.0)
    }
}

impl Loads {
    /// The first load that is no less than this, or the highest one.
    fn at_least(&self, number: f64) -> u32 {
        let most = f64::from((self.high - self.low) / self.step);
        let steps = ((number - f64::from(self.low)) / f64::from(self.step)).ceil();
        self.low + self.step * steps.clamp(0.0, most) as u32
    }

    /// The highest of those that are kept before the first that isn't, or the lowest load.
    fn highest(&self, kept: &[bool]) -> u32 {
        let holds = kept.iter().take_while(|&&kept| kept).count() as u32;
        self.low + self.step * holds.saturating_sub(1)
    }

    /// What keeps the limit on curves up to any number outstanding, which begin as far as Little's law lets the limit hold.
    fn on_curves(
        &self,
        limit: &Limit,
        most: Option<f64>,
        first: f64,
        curve: impl Fn(u32) -> Result<Vec<Point>, Error>,
    ) -> Result<Found, Error> {
        let mut last = self.at_least(most.unwrap_or(first));
        loop {
            let curve = curve(last)?;
            let asked = curve[self.low as usize - 1..].iter();
            let asked = asked.step_by(self.step as usize);
            let kept: Vec<bool> = asked.clone().map(|point| limit.holds(point)).collect();
            let further = self.at_least(f64::from(last) * FURTHER);
            let fails = kept[kept.len() / 2..].contains(&false);
            if fails || most.is_some() || further == last {
                let next = asked.zip(&kept).find(|(_, kept)| !**kept);
                return Ok((kept.clone(), next.map(|(point, _)| *point)));
            }
            last = further;
        }
    }

    /// The same where a curve is followed at few loads, between which it's only nearly right: from what it says in steps that double, then
    /// halve, with each load followed by itself.
    fn by_themselves(
        &self,
        limit: &Limit,
        kept: &[bool],
        point: impl Fn(u32) -> Result<Point, Error>,
    ) -> Result<Found, Error> {
        let end = (self.high - self.low) / self.step;
        // What is below the first keeps the limit; the second doesn't, or is beyond the highest.
        let (mut holds, mut fails, mut next) = (0, end + 1, None);
        let mut index = (self.highest(kept) - self.low) / self.step;
        let mut stride = 1;
        while holds < fails {
            let there = point(self.low + self.step * index)?;
            if limit.holds(&there) {
                holds = index + 1;
            } else {
                (fails, next) = (index, Some(there));
            }
            index = match next {
                None => end.min(index.saturating_add(stride)),
                Some(_) if holds == 0 => index.saturating_sub(stride),
                Some(_) => holds.midpoint(fails),
            };
            stride = stride.saturating_mul(2);
        }
        let holds = holds as usize;
        // Of those beyond that the curve says keep it, one is asked.
        let beyond: Vec<usize> = (holds + 1..kept.len()).filter(|&at| kept[at]).collect();
        let again = match beyond.get(beyond.len() / 2) {
            Some(&at) => limit
                .holds(&point(self.low + self.step * at as u32)?)
                .then_some(at),
            None => None,
        };
        let last = again.unwrap_or(if next.is_some() {
            holds
        } else {
            holds.saturating_sub(1)
        });
        let known = |at: usize| at < holds || Some(at) == again;
        Ok(((0..=last).map(known).collect(), next))
    }
}

impl System {
    /// Finds the load line of closed streams, whose shares of what is outstanding stay as they are, with its working if it's to explain itself.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), of open loads, and of loads that can't be.
    pub fn load_line(
        &self,
        streams: &[Stream],
        limit: &Limit,
        loads: &Loads,
        explain: bool,
    ) -> Result<LoadLine, Error> {
        let streams = &in_order(streams);
        let Loads { low, high, step } = *loads;
        if low == 0 || step == 0 || high < low {
            let why = format!("from {low} to {high} every {step} are no loads");
            return Err(Error::at("arrival.outstanding", why));
        }
        let (asked, profiles) = self.question(streams, high)?;
        let Asked::Closed { think_ns, .. } = asked else {
            return Err(Error::at(
                "arrival",
                "has a rate, and no number outstanding",
            ));
        };
        let at = |outstanding| Asked::Closed {
            outstanding,
            think_ns,
        };
        let line = |(mut kept, mut next): Found, solve: Solve<'_>| {
            loop {
                let highest = loads.highest(&kept);
                let [far, _] = followed_beside(2 * (highest + step), step);
                let beyond = high.min(far);
                let solution = solve([highest, beyond])?;
                // A curve that ends there may be a little above one that goes on.
                let fails = solution.at.filter(|at| !limit.holds(at));
                let known = kept.get_mut(((highest - low) / step) as usize);
                match (fails, known.filter(|kept| **kept)) {
                    (Some(at), Some(kept)) => (*kept, next) = (false, Some(at)),
                    _ => {
                        return Ok(LoadLine {
                            solution,
                            next,
                            kept,
                            beyond,
                        });
                    }
                }
            }
        };
        let Some(view) = self.view()? else {
            let solve =
                |outstanding| self.stations(streams, &at(outstanding), outstanding, explain);
            let most = limit.most(solve(1)?.saturation_per_s, think_ns);
            let found = loads.on_curves(limit, most, FIRST, |most| Ok(solve(most)?.curve))?;
            return line(found, &|[highest, _]| solve(highest));
        };
        let mix = view.mix(&profiles);
        let solver = |outstanding| Solver::new(&view, mix.clone(), outstanding);
        let first = solver(loads.at_least(FIRST));
        let curve = |most| first.curve(1..=most, think_ns);
        // How many controllers work on a stream hangs on what is outstanding.
        let own = |outstanding| match mix.order {
            Some(_) => Cow::Owned(solver(outstanding)),
            None => Cow::Borrowed(&first),
        };
        let solve = |[highest, beyond]: [u32; 2]| {
            let own = own(highest);
            let below = if own.each_by_itself() { 0 } else { highest };
            own.solution([below, beyond], &at(highest), explain)
        };
        if mix.order.is_none() && mix.direct.is_none() {
            let most = limit.most(first.limit * 1e9, think_ns);
            return line(loads.on_curves(limit, most, FIRST, curve)?, &solve);
        }
        // What is followed is known at powers of two, and where the curve ends: that shouldn't hang on saturation.
        let begin = mix.direct.as_ref().map_or(FIRST, |_| FIRST_FOLLOWED);
        let (kept, _) = loads.on_curves(limit, None, begin, curve)?;
        let found = loads.by_themselves(limit, &kept, |n| {
            let points = own(n).curve(n..=n, think_ns)?;
            Ok(points[0])
        })?;
        line(found, &solve)
    }
}
