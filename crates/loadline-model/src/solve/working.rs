//! The working: each step with its formula and the numbers put in, as an engineer would write it down.

use super::bounds::Asymptotes;
use super::closed::Closed;
use super::network::{Network, Servers};
use super::open::{Method, Open};
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
fn figure(value: f64) -> String {
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

fn ms(ns: f64) -> String {
    figure(ns / 1e6)
}

fn sum(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" + ")
}

impl Working {
    fn add(&mut self, name: &str, formula: &str, numbers: String, value: f64, unit: &'static str) {
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
        for center in &network.centers {
            let terms = network
                .classes
                .iter()
                .zip(&center.demands)
                .filter(|(_, demand)| demand.visits > 0.0);
            let numbers = sum(terms.map(|(class, demand)| {
                let share = if network.classes.len() > 1 {
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
            let formula = if network.classes.len() > 1 {
                "sum of share x visits x service"
            } else {
                "visits x service"
            };
            let numbers = if numbers.is_empty() {
                "0".to_owned()
            } else {
                numbers
            };
            working.add(
                &format!("D({})", center.name),
                formula,
                numbers,
                network.demand_ns(center) / 1e6,
                "ms",
            );
        }
        for center in network
            .centers
            .iter()
            .filter(|center| network.demand_ns(center) > 0.0)
        {
            let (formula, most) = match &center.servers {
                Servers::Delay => continue,
                Servers::Queue(1) => ("1 / D", "1".to_owned()),
                Servers::Queue(servers) => ("servers / D", servers.to_string()),
                Servers::Dependent { .. } => {
                    ("highest speed-up / D", figure(center.servers.most()))
                }
            };
            let numbers = format!("{most} / {} ms", ms(network.demand_ns(center)));
            working.add(
                &format!("capacity({})", center.name),
                formula,
                numbers,
                network.capacity_per_s(center),
                "I/Os/s",
            );
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
        let (all, most) = (ms(asymptotes.demand_ns), ms(asymptotes.bottleneck_ns));
        let think = ms(network.think_ns);
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
                Servers::Queue(1) => "D (1 + Q seen by an arrival), mean value analysis",
                Servers::Delay => "D",
                _ => "sum over j of p(j) j / X, load-dependent mean value analysis",
            };
            let numbers = format!(
                "Q / X = {} / {} per ms",
                figure(at.inside_mean),
                figure(x / 1e3)
            );
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
            let demand = ms(network.demand_ns(center));
            let (formula, numbers) = match &center.servers {
                Servers::Queue(1) => ("X D", format!("{} per ms x {demand} ms", figure(x / 1e3))),
                Servers::Queue(c) => (
                    "X D / servers",
                    format!("{} per ms x {demand} ms / {c}", figure(x / 1e3)),
                ),
                Servers::Delay => continue,
                Servers::Dependent { .. } => (
                    "1 - p(0)",
                    format!("1 - {}", figure(1.0 - at.utilisation_fraction)),
                ),
            };
            working.add(
                &format!("U({})", center.name),
                formula,
                numbers,
                at.utilisation_fraction,
                "",
            );
        }
        let knee = solved.knee();
        let numbers = format!("largest of {} populations", solved.population);
        working.add(
            "knee",
            "N of the largest X / R (power)",
            numbers,
            f64::from(knee),
            "outstanding",
        );
        working
    }

    /// How an open network was solved.
    pub fn open(network: &Network, solved: &Open) -> Self {
        let mut working = Working::demands(network);
        let rate = solved.rate_per_s;
        for (center, at) in network.centers.iter().zip(&solved.centers) {
            let demand_ns = network.demand_ns(center);
            let (demand, scv) = (ms(demand_ns), figure(network.scv(center)));
            let used = figure(at.utilisation_fraction);
            let load = format!("{} per ms x {demand} ms", figure(rate / 1e3));
            match &center.servers {
                Servers::Queue(1) => working.add(
                    &format!("U({})", center.name),
                    "rate x D",
                    load,
                    at.utilisation_fraction,
                    "",
                ),
                Servers::Queue(c) => working.add(
                    &format!("U({})", center.name),
                    "rate x D / servers",
                    format!("{load} / {c}"),
                    at.utilisation_fraction,
                    "",
                ),
                _ => {}
            }
            let (formula, numbers) = match (&at.method, &center.servers) {
                (Method::Delay, _) => ("D", format!("{demand} ms")),
                (Method::PollaczekKhinchine, _) => (
                    "D + D U / (1 - U) x (1 + scv) / 2, Pollaczek-Khinchine",
                    format!("{demand} + {demand} x {used} / (1 - {used}) x (1 + {scv}) / 2 ms"),
                ),
                (Method::ErlangC | Method::AllenCunneen, Servers::Queue(c)) => {
                    let waits = figure(super::open::erlang_c(*c, rate / 1e9 * demand_ns));
                    let wait = format!(
                        "{demand} x {waits} / ({c} - {})",
                        figure(rate / 1e9 * demand_ns)
                    );
                    if at.method == Method::ErlangC {
                        (
                            "D + D C / (servers - rate x D), Erlang C",
                            format!("{demand} + {wait} ms"),
                        )
                    } else {
                        let ratio = (at.residence_ns - demand_ns)
                            / (demand_ns * super::open::erlang_c(*c, rate / 1e9 * demand_ns)
                                / (f64::from(*c) - rate / 1e9 * demand_ns));
                        (
                            "D + D C / (servers - rate x D) x (ca2 + cs2) / 2, Allen-Cunneen (approximation)",
                            format!("{demand} + {wait} x {} ms", figure(ratio)),
                        )
                    }
                }
                _ => (
                    "sum over j of p(j) j / rate, birth and death",
                    format!("{} / {} per ms", figure(at.inside_mean), figure(rate / 1e3)),
                ),
            };
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
