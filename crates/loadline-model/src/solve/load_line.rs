//! The load line of a closed load: the last number outstanding before the first at which the mean response fails a limit.

use super::solver::Solver;
use super::system::{Asked, Point, Solution};
use crate::Error;
use crate::sim::{Stream, Way};
use crate::simulation::System;

/// A curve goes so far at first where Little's law doesn't say how far the limit can hold, then so many times as far while all of it does.
const FIRST: f64 = 512.0;
const FURTHER: f64 = 4.0;

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
    /// At the highest load below the first that fails, or at the lowest.
    pub solution: Solution,
    /// The first load that fails; `None` if the limit holds up to the highest.
    pub next: Option<Point>,
    /// Which loads keep the limit, from the lowest as far as it can hold.
    pub kept: Vec<bool>,
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

    /// The load line on curves up to any number outstanding, which begin as far as Little's law lets the limit hold, and its solution.
    fn line(
        &self,
        limit: &Limit,
        most: Option<f64>,
        curve: impl Fn(u32) -> Result<Vec<Point>, Error>,
        solve: impl Fn(u32) -> Result<Solution, Error>,
    ) -> Result<LoadLine, Error> {
        let mut last = self.at_least(most.unwrap_or(FIRST));
        loop {
            let curve = curve(last)?;
            let asked = curve[self.low as usize - 1..].iter();
            let asked = asked.step_by(self.step as usize);
            let kept: Vec<bool> = asked.clone().map(|point| limit.holds(point)).collect();
            let further = self.at_least(f64::from(last) * FURTHER);
            let fails = kept[kept.len() / 2..].contains(&false);
            if fails || most.is_some() || further == last {
                return Ok(LoadLine {
                    solution: solve(self.highest(&kept))?,
                    next: asked
                        .zip(&kept)
                        .find(|(_, kept)| !**kept)
                        .map(|(point, _)| *point),
                    kept,
                });
            }
            last = further;
        }
    }
}

impl System {
    /// Finds the load line of closed streams, whose shares of what is outstanding stay as they are.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), of open loads, and of loads that can't be.
    pub fn load_line(
        &self,
        streams: &[Stream],
        limit: &Limit,
        loads: &Loads,
    ) -> Result<LoadLine, Error> {
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
        let Some(view) = self.view()? else {
            let solve = |outstanding| self.stations(streams, &at(outstanding), outstanding);
            let most = limit.most(solve(1)?.saturation_per_s, think_ns);
            return loads.line(limit, most, |most| Ok(solve(most)?.curve), solve);
        };
        let mix = view.mix(&profiles);
        let solver = |outstanding| Solver::new(&view, mix.clone(), outstanding);
        let first = solver(loads.at_least(FIRST));
        // What is followed is known at powers of two, and where the curve ends: that shouldn't hang on saturation.
        let most = if mix.order.is_some() || mix.direct.is_some() {
            None
        } else {
            limit.most(first.limit.0 * 1e9, think_ns)
        };
        let curve = |most| first.curve(1..=most, think_ns);
        loads.line(limit, most, curve, |highest| {
            let solve = |solver: &Solver<'_>| solver.solution(highest, &at(highest));
            // How many controllers work on a stream hangs on what is outstanding.
            match mix.order {
                Some(_) => solve(&solver(highest)),
                None => solve(&first),
            }
        })
    }
}
