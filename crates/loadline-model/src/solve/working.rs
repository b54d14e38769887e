//! The working: each step with its formula and the numbers put in, as an engineer would write it down.

use super::bounds::Asymptotes;
use super::closed::Closed;
use super::network::{Center, Network, Servers};
use super::open::{Method, Open, OpenCenter, erlang_c};
use std::fmt;

/// One line of the working.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What is found, such as `demand of disks`.
    pub name: String,
    /// How, such as `visits x service`.
    pub formula: String,
    /// The formula with the numbers put in.
    pub numbers: String,
    /// What comes out.
    pub value: f64,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
}

/// Lines in the order in which they build on each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Working {
    /// The lines.
    pub lines: Vec<Line>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line {
            name,
            formula,
            numbers,
            value,
            unit,
        } = self;
        write!(f, "{name} = {formula} = {numbers} = {}", figure(*value))?;
        if unit.is_empty() {
            Ok(())
        } else {
            write!(f, " {unit}")
        }
    }
}

impl fmt::Display for Working {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Four significant digits, and all digits before the point.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub(super) fn ms(ns: f64) -> String {
    figure(ns / 1e6)
}

fn sum(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" + ")
}

/// How many work side by side, as words and as numbers: `copies x servers`, `4 x 2`. `None` for a single one.
fn side_by_side(center: &Center) -> Option<(&'static str, String)> {
    let copies = center.copies;
    match (copies, &center.servers) {
        (1, Servers::Queue(1)) | (_, Servers::Delay) => None,
        (1, Servers::Queue(servers)) => Some(("servers", servers.to_string())),
        (_, Servers::Queue(1)) => Some(("copies", copies.to_string())),
        (_, Servers::Queue(servers)) => Some(("copies x servers", format!("{copies} x {servers}"))),
        (1, servers) => Some(("highest speed-up", figure(servers.most()))),
        (_, servers) => Some((
            "copies x highest speed-up",
            format!("{copies} x {}", figure(servers.most())),
        )),
    }
}

/// The utilisation law with the numbers put in; `None` where it isn't what utilisation is.
fn utilisation(
    center: &Center,
    demand_ns: f64,
    per_s: f64,
    letter: &str,
) -> Option<(String, String)> {
    if !matches!(center.servers, Servers::Queue(_)) {
        return None;
    }
    let numbers = format!("{} per ms x {} ms", figure(per_s / 1e3), ms(demand_ns));
    Some(match side_by_side(center) {
        None => (format!("{letter} x D"), numbers),
        Some((words, count)) => (
            format!("{letter} x D / ({words})"),
            format!("{numbers} / ({count})"),
        ),
    })
}

impl Working {
    pub(super) fn add(
        &mut self,
        name: &str,
        formula: &str,
        numbers: String,
        value: f64,
        unit: &'static str,
    ) {
        let (name, formula) = (name.to_owned(), formula.to_owned());
        self.lines.push(Line {
            name,
            formula,
            numbers,
            value,
            unit,
        });
    }

    /// Demands of all centers, the bottleneck and the saturation.
    pub fn demands(network: &Network) -> Self {
        let mut working = Working::default();
        let mixed = network.classes.len() > 1;
        let formula = if mixed {
            "sum of share x visits x service"
        } else {
            "visits x service"
        };
        for center in &network.centers {
            let terms = network
                .classes
                .iter()
                .zip(&center.demands)
                .filter(|(_, demand)| demand.visits > 0.0);
            let numbers = sum(terms.map(|(class, demand)| {
                let share = if mixed {
                    format!("{} x ", figure(class.share))
                } else {
                    String::new()
                };
                format!(
                    "{share}{} x {} ms",
                    figure(demand.visits),
                    ms(demand.service_ns)
                )
            }));
            let numbers = if numbers.is_empty() {
                "0 ms".to_owned()
            } else {
                numbers
            };
            let demand_ms = network.demand_ns(center) / 1e6;
            working.add(
                &format!("D({})", center.name),
                formula,
                numbers,
                demand_ms,
                "ms",
            );
        }
        for center in &network.centers {
            let demand_ns = network.demand_ns(center);
            if demand_ns > 0.0 && center.servers != Servers::Delay {
                let (words, count) = side_by_side(center).unwrap_or(("1", "1".to_owned()));
                let numbers = format!("{count} / {} ms", ms(demand_ns));
                let capacity = network.capacity_per_s(center);
                working.add(
                    &format!("capacity({})", center.name),
                    &format!("{words} / D"),
                    numbers,
                    capacity,
                    "I/Os/s",
                );
            }
        }
        let bottleneck = &network.centers[network.bottleneck()];
        let numbers = format!("capacity({})", bottleneck.name);
        working.add(
            "saturation",
            "least capacity",
            numbers,
            network.saturation_per_s(),
            "I/Os/s",
        );
        working
    }

    /// How a closed network was solved.
    pub fn closed(network: &Network, solved: &Closed) -> Self {
        let mut working = Working::demands(network);
        let asymptotes = Asymptotes::of(network);
        let (n, x, r) = (solved.population, solved.throughput(), solved.response());
        let demands = network
            .centers
            .iter()
            .map(|center| ms(network.demand_ns(center)));
        working.add(
            "D",
            "sum of demands",
            format!("{} ms", sum(demands)),
            asymptotes.demand_ns / 1e6,
            "ms",
        );
        let (all, most, think) = (
            ms(asymptotes.demand_ns),
            ms(asymptotes.bottleneck_ns),
            ms(network.think_ns),
        );
        let numbers = format!("1000 / {}", figure(1e9 / asymptotes.bottleneck_ns));
        working.add(
            "Dmax",
            "1000 / highest throughput",
            numbers,
            asymptotes.bottleneck_ns / 1e6,
            "ms",
        );
        let crossing = asymptotes.saturation_population();
        let numbers = format!("({all} + {think}) / {most}");
        working.add(
            "N*",
            "(D + Z) / Dmax: the asymptotes cross",
            numbers,
            crossing,
            "outstanding",
        );
        let bounds = asymptotes.throughput_per_s(n);
        let numbers = format!("min({n} / ({all} + {think}), 1 / {most}) per ms");
        working.add(
            &format!("X({n}) at most"),
            "min(N / (D + Z), 1 / Dmax)",
            numbers,
            bounds.most,
            "I/Os/s",
        );
        for (center, at) in network.centers.iter().zip(&solved.centers) {
            let formula = match &center.servers {
                Servers::Queue(1) if network.scv(center) < 1.0 => {
                    "Q / X by mean value analysis, of a service under way the rest (Reiser 1979)"
                }
                Servers::Queue(1) => "Q / X by mean value analysis",
                Servers::Delay => "Q / X = D",
                _ => "Q / X by load-dependent mean value analysis",
            };
            let numbers = format!("{} / {} per ms", figure(at.inside_mean), figure(x / 1e3));
            working.add(
                &format!("R({})", center.name),
                formula,
                numbers,
                at.residence_ns / 1e6,
                "ms",
            );
        }
        let residences = solved.centers.iter().map(|center| ms(center.residence_ns));
        working.add(
            &format!("R({n})"),
            "sum of residences",
            format!("{} ms", sum(residences)),
            r / 1e6,
            "ms",
        );
        let numbers = format!("{n} / ({} + {think}) per ms", ms(r));
        working.add(&format!("X({n})"), "N / (R + Z)", numbers, x, "I/Os/s");
        for (center, at) in network.centers.iter().zip(&solved.centers) {
            let used = at.utilisation_fraction;
            let law = utilisation(center, network.demand_ns(center), x, "X");
            let dependent = matches!(center.servers, Servers::Dependent { .. })
                .then(|| ("1 - p(0)".to_owned(), format!("1 - {}", figure(1.0 - used))));
            if let Some((formula, numbers)) = law.or(dependent) {
                working.add(&format!("U({})", center.name), &formula, numbers, used, "");
            }
        }
        let numbers = format!("the best of 1 to {n}");
        working.add(
            "knee",
            "N of the largest X / R",
            numbers,
            f64::from(solved.knee()),
            "outstanding",
        );
        working
    }

    /// How an open network was solved.
    pub fn open(network: &Network, solved: &Open) -> Self {
        let mut working = Working::demands(network);
        for (center, at) in network.centers.iter().zip(&solved.centers) {
            let law = utilisation(center, network.demand_ns(center), solved.rate_per_s, "rate");
            if let Some((formula, numbers)) = law {
                working.add(
                    &format!("U({})", center.name),
                    &formula,
                    numbers,
                    at.utilisation_fraction,
                    "",
                );
            }
            let (formula, numbers) = open_residence(network, center, at, solved.rate_per_s);
            working.add(
                &format!("R({})", center.name),
                formula,
                numbers,
                at.residence_ns / 1e6,
                "ms",
            );
        }
        let residences = solved.centers.iter().map(|center| ms(center.residence_ns));
        working.add(
            "R",
            "sum of residences",
            format!("{} ms", sum(residences)),
            solved.response_ns / 1e6,
            "ms",
        );
        working
    }
}

fn open_residence(
    network: &Network,
    center: &Center,
    at: &OpenCenter,
    per_s: f64,
) -> (&'static str, String) {
    let demand_ns = network.demand_ns(center);
    let (demand, scv, used) = (
        ms(demand_ns),
        figure(network.scv(center)),
        figure(at.utilisation_fraction),
    );
    match (at.method, &center.servers) {
        (Method::Delay, _) => ("D", format!("{demand} ms")),
        (Method::PollaczekKhinchine, _) => (
            "D + D U / (1 - U) x (1 + scv) / 2, Pollaczek-Khinchine",
            format!("{demand} + {demand} x {used} / (1 - {used}) x (1 + {scv}) / 2 ms"),
        ),
        (method, Servers::Queue(servers)) => {
            let load = per_s / 1e9 * demand_ns / f64::from(center.copies);
            let waits = erlang_c(*servers, load);
            let alike_ns = demand_ns * waits / (f64::from(*servers) - load);
            let erlang = format!(
                "{demand} + {demand} x {} / ({servers} - {})",
                figure(waits),
                figure(load)
            );
            if method == Method::ErlangC {
                (
                    "D + D C / (servers - load), Erlang C",
                    format!("{erlang} ms"),
                )
            } else {
                let variation = (at.residence_ns - demand_ns) / alike_ns;
                (
                    "D + D C / (servers - load) x (ca2 + cs2) / 2, Allen-Cunneen (approximation)",
                    format!("{erlang} x {} ms", figure(variation)),
                )
            }
        }
        _ => (
            "Q / rate, birth and death",
            format!(
                "{} / {} per ms",
                figure(at.inside_mean),
                figure(per_s / 1e3)
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Center;

    fn network() -> Network {
        Network::of(
            vec![
                Center::of("controller", Servers::Queue(1), 1.0, 1e5),
                Center::of("disks", Servers::Queue(8), 1.99, 7e6),
            ],
            0.0,
        )
    }

    #[test]
    fn a_closed_working_has_the_numbers_put_in() {
        let solved = Closed::solve(&network(), 32).unwrap();
        let text = Working::closed(&network(), &solved).to_string();
        for line in [
            "D(disks) = visits x service = 1.99 x 7 ms = 13.93 ms",
            "capacity(disks) = servers / D = 8 / 13.93 ms = 574.3 I/Os/s",
            "saturation = least capacity = capacity(disks) = 574.3 I/Os/s",
            "N* = (D + Z) / Dmax: the asymptotes cross = (14.03 + 0) / 1.741 = 8.057 outstanding",
            "X(32) = N / (R + Z) = 32 / (55.72 + 0) per ms = 574.3 I/Os/s",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line}\nin\n{text}"
            );
        }
    }

    #[test]
    fn copies_and_mixes_show_their_numbers() {
        let class = |name: &str, share| crate::solve::Class {
            name: name.into(),
            share,
        };
        let demand = |visits| crate::solve::Demand {
            visits,
            service_ns: 7e6,
            scv: 1.0,
        };
        let disks = Center {
            name: "disks".into(),
            copies: 168,
            servers: Servers::Queue(1),
            demands: vec![demand(1.0), demand(4.0)],
        };
        let classes = vec![class("read", 0.67), class("write", 0.33)];
        let network = Network {
            classes,
            centers: vec![disks],
            think_ns: 0.0,
        };
        let solved = Closed::solve(&network, 100).unwrap();
        let text = Working::closed(&network, &solved).to_string();
        for line in [
            "D(disks) = sum of share x visits x service = 0.67 x 1 x 7 ms + 0.33 x 4 x 7 ms = 13.93 ms",
            "capacity(disks) = copies / D = 168 / 13.93 ms = 12060 I/Os/s",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line}\nin\n{text}"
            );
        }
    }

    #[test]
    fn an_open_working_names_the_formula_of_each_center() {
        let solved = Open::solve(&network(), 500.0, 1.0).unwrap();
        let text = Working::open(&network(), &solved).to_string();
        assert!(
            text.contains("R(controller) = D + D U / (1 - U) x (1 + scv) / 2, Pollaczek-Khinchine"),
            "{text}"
        );
        assert!(text.contains("Erlang C"), "{text}");
        let bursty = Open::solve(&network(), 500.0, 4.0).unwrap();
        assert!(
            Working::open(&network(), &bursty)
                .to_string()
                .contains("approximation")
        );
    }

    #[test]
    fn figures_have_four_digits_that_count() {
        let figures = [
            (0.0, "0"),
            (1.0, "1"),
            (13.93, "13.93"),
            (11987.54, "11988"),
            (0.012_345, "0.01235"),
            (100.0, "100"),
        ];
        for (value, text) in figures {
            assert_eq!(figure(value), text);
        }
    }
}
