//! Drives under arrivals from outside: how many sets are at them at a rate.

use super::drives::{Choice, Drives};

/// Queues that are followed one by one; beyond them the rate of service doesn't change, and the rest is geometric.
const LONGEST: usize = 4096;

/// What is left out of a distribution.
const NEGLIGIBLE: f64 = 1e-10;

/// By how many standard errors of what comes by chance, and by what share of it at the least, those inside get more where that is neither chance nor a queue that
/// comes about.
const BEYOND_CHANCE: f64 = 4.0;
const SLIGHT: f64 = 0.03;

/// Whether so many more inside, while so many come, tell that fewer end than come.
pub(super) fn falls_behind(come: f64, more_inside: f64) -> bool {
    more_inside > (BEYOND_CHANCE * come.sqrt()).max(SLIGHT * come)
}

impl Drives {
    /// Mean number of sets inside at a rate of sets per ns, below saturation, whose times between arrivals have the squared
    /// coefficient of variation `scv`.
    ///
    /// I/Os that go on from another one find it still there with probability N / (k + N), N being the mean number inside, of k streams: the next
    /// arrival comes before the departure, were both exponential. These are clumps, which arrive together.
    pub(super) fn open(&self, per_ns: f64, scv: f64) -> f64 {
        let apart = self.apart(per_ns, scv);
        if self.clump <= 1.0 {
            return apart;
        }
        let together = self.clumped().apart(per_ns / self.clump, scv) * self.clump;
        apart + (together - apart) * apart / (self.streams + apart)
    }

    /// Mean wait in line of sets of a sequential load, whose times between arrivals have the squared coefficient of variation `scv`
    /// (Kingman 1961).
    pub(super) fn in_line_ns(&self, per_ns: f64, scv: f64) -> f64 {
        let most = self.saturation();
        let used = (per_ns / most).min(0.99);
        used / (1.0 - used) * f64::midpoint(scv, self.curve.best().1.scv) / most
    }

    /// The same of sets that come one by one: each group alone.
    fn apart(&self, per_ns: f64, scv: f64) -> f64 {
        let single_ns = self.curve.at(self.each).mean_ns;
        let first_ns = self.rested.as_ref().map_or(single_ns, |rested| {
            // The more a drive has to do, the less it rests.
            let used = self.busy(per_ns, 0.0, f64::INFINITY) / self.count;
            rested.curve.first().mean_ns * (1.0 - used) + single_ns * used
        });
        let residence = self.arriving_ns(per_ns / self.groups(), scv, first_ns, self.choice.share);
        let sets_ns = self.sets_ns(residence, per_ns * residence);
        per_ns * sets_ns.iter().sum::<f64>()
    }

    /// Mean residence of sets at a group to which so many come per ns, without that of their joins; a single access takes `first_ns`, and so
    /// large a share of them chooses among copies.
    pub(super) fn arriving_ns(
        &self,
        each_per_ns: f64,
        scv: f64,
        first_ns: f64,
        choosing: f64,
    ) -> f64 {
        let single = self.curve.at(self.each);
        let settled = (self.curve.best().0 / self.each).ceil() as usize + 1;
        let services = (1..=settled).map(|queued| {
            // The curve's number has one more than can be chosen among: who was served last, and is on the way back.
            let last = if queued == 1 { 0.0 } else { 1.0 };
            let here = self.curve.at(queued as f64 * self.each + last);
            let mean_ns = if queued == 1 { first_ns } else { here.mean_ns };
            (self.each * mean_ns, here.scv / self.each)
        });
        let services: Vec<(f64, f64)> = services.collect();
        let service = |queued: usize| services[queued - 1];
        let (whole, c2) = service(1);
        let waiting = (queue(each_per_ns, settled, service) / each_per_ns - whole).max(0.0);
        let Choice {
            copies,
            shortest,
            spread,
            ..
        } = self.choice;
        // Of the sets that choose; those that don't come as they come.
        let chosen = if copies > 1 {
            let wait = |servers| pooled_wait_ns(each_per_ns, servers, settled, service);
            let shortest_waits = wait(copies as usize) / wait(1) * varied(scv, c2);
            if shortest {
                shortest_waits
            } else {
                let turns = scv / f64::from(copies);
                // Of copies that are anywhere a drive has the first of some, in turn, and others of many.
                let own = 1.0 / f64::from(copies);
                let arrivals = if spread {
                    turns * own + 1.0 - own
                } else {
                    turns
                };
                turned(arrivals, c2, each_per_ns * whole).max(shortest_waits)
            }
        } else {
            1.0
        };
        let waiting = waiting * (choosing * chosen + (1.0 - choosing) * varied(scv, c2));
        waiting + self.own_ns(single, 1.0)
    }
}

/// By what waits differ from those of Poisson arrivals, with these squared coefficients of variation of arrivals and services (Allen and
/// Cunneen).
fn varied(arrivals: f64, services: f64) -> f64 {
    (arrivals + services) / (1.0 + services)
}

/// The same with what makes it good for light loads of arrivals that vary less (Kraemer and Langenbach-Belz 1976, "Approximate formulae for
/// the delay in the queueing system GI/G/1").
fn turned(arrivals: f64, services: f64, load: f64) -> f64 {
    let less = (1.0 - arrivals).max(0.0);
    let light = -2.0 * (1.0 - load).max(0.0) * less * less / (3.0 * load * (arrivals + services));
    varied(arrivals, services) * light.exp()
}

/// The mean wait at servers the shortest of whose queues is chosen, with Poisson arrivals of so many per ns for each of them.
///
/// Their queues are taken as even, as if who waits could still change over (Haight 1958, "Two queues in parallel"), which is
/// exact for exponential services.
fn pooled_wait_ns(
    per_ns: f64,
    servers: usize,
    settled: usize,
    service: impl Fn(usize) -> (f64, f64),
) -> f64 {
    let rates: Vec<f64> = std::iter::once(0.0)
        .chain((1..=settled).map(|queued| 1.0 / service(queued).0))
        .collect();
    let rate = |queued: usize| rates[queued.min(settled)];
    let arriving = per_ns * servers as f64;
    let (mut weight, mut sum, mut inside, mut busy) = (1.0, 1.0, 0.0, 0.0);
    for here in 1..LONGEST {
        let (all, more) = (here / servers, here % servers);
        weight *= arriving / (more as f64 * rate(all + 1) + (servers - more) as f64 * rate(all));
        sum += weight;
        inside += here as f64 * weight;
        busy += here.min(servers) as f64 * weight;
        if all > settled && weight * (here as f64) < NEGLIGIBLE * inside {
            break;
        }
    }
    (inside - busy) / sum / arriving
}

/// The mean number at a single server with Poisson arrivals of so many per ns, whose service, begun with `n` there, has the
/// mean in ns and the squared coefficient of variation `service(n)`; from `settled` on they don't change.
///
/// Exact for gamma-distributed services (Harris 1967, "Queues with state-dependent stochastic service rates", Operations
/// Research 15): what services leave behind is a Markov chain that falls by one at most, so that the flow down from each
/// number is the flow up over it. Arrivals in a gamma-distributed time are negative binomial. What one leaves behind
/// is what an arrival finds, and what is there at any time.
fn queue(per_ns: f64, settled: usize, service: impl Fn(usize) -> (f64, f64)) -> f64 {
    let arrivals: Vec<Vec<f64>> = (1..=settled)
        .map(|queued| at_least(per_ns, service(queued)))
        .collect();
    let of = |queued: usize| &arrivals[queued.clamp(1, settled) - 1];
    let busy = of(settled);
    // So many never arrive in a service.
    let never = arrivals.iter().map(Vec::len).max().unwrap_or(0);
    let mut left = vec![1.0];
    let (mut sum, mut inside) = (1.0, 0.0);
    for next in 1..LONGEST {
        // From `before`, after whose next service `next` or more are left.
        let from = if next < never { 0 } else { next + 2 - never };
        // Those that are begun with so many there that services don't change any more, then the others.
        let others = from.max(settled).min(next);
        let settled_up = left[others..].iter().rev().zip(busy.iter().skip(2));
        let others_up = (from..others).rev().map(|before| {
            let needed = next + usize::from(before > 0) - before;
            left[before] * of(before).get(needed).copied().unwrap_or(0.0)
        });
        let settled_up = settled_up.map(|(left, more)| left * more);
        let up: f64 = settled_up.chain(others_up).sum();
        let none = 1.0 - of(next)[1];
        let weight = up / none;
        left.push(weight);
        sum += weight;
        inside += next as f64 * weight;
        if next > settled && weight * (next as f64) < NEGLIGIBLE * inside {
            return inside / sum;
        }
    }
    // Near saturation: the rest falls by one ratio.
    let (last, ratio) = (left[LONGEST - 1], left[LONGEST - 1] / left[LONGEST - 2]);
    let rest = last * ratio / (1.0 - ratio);
    inside += rest * (LONGEST as f64 + ratio / (1.0 - ratio));
    inside / (sum + rest)
}

/// Probabilities of at least 0, 1 ... arrivals in a service of this mean and squared coefficient of variation.
fn at_least(per_ns: f64, (mean_ns, scv): (f64, f64)) -> Vec<f64> {
    let load = per_ns * mean_ns;
    let spread = scv.max(1e-6);
    let (shape, ratio) = (1.0 / spread, load * spread / (1.0 + load * spread));
    let mut chance = (-shape * (load * spread).ln_1p()).exp();
    let (mut more, mut found) = (1.0, Vec::new());
    let mut count = 0.0;
    while more > NEGLIGIBLE && found.len() < LONGEST {
        found.push(more);
        more -= chance;
        count += 1.0;
        chance *= ratio * (shape + count - 1.0) / count;
    }
    found.push(0.0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_one_speed_is_pollaczeks_and_khinchines() {
        for scv in [0.0, 0.3, 1.0, 2.0] {
            for load in [0.1, 0.5, 0.9] {
                let exact = load + load * load * (1.0 + scv) / (2.0 * (1.0 - load));
                let found = queue(load, 1, |_| (1.0, scv));
                assert!(
                    (found / exact - 1.0).abs() < 1e-4,
                    "{scv} {load}: {found} {exact}"
                );
            }
        }
    }

    #[test]
    fn two_exponential_servers_are_one_that_works_twice_as_fast_on_two() {
        // Gross, Shortle, Thompson and Harris 2008: L = 2 rho / (1 - rho^2). A single service that is begun with one there
        // goes on at that speed, so only loads of which hardly any is above two are alike.
        let found = queue(0.01, 2, |queued| (1.0 / queued as f64, 1.0));
        assert!(
            (found / (0.01 / (1.0 - 0.005 * 0.005)) - 1.0).abs() < 0.01,
            "{found}"
        );
    }
}
