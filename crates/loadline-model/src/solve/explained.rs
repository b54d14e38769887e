//! The working of a described system: what its I/Os ask for, component by component, with the numbers put in.

use super::drives::Drives;
use super::parts::Part;
use super::solver::Solver;
use super::system::{Asked, Point};
use super::working::{Working, figure, ms};
use crate::sim::Way;

impl Solver<'_> {
    /// How it was found, as on paper.
    pub(super) fn working(
        &self,
        asked: &Asked,
        at: Option<&Point>,
        components: &[(String, f64)],
    ) -> Working {
        let mut working = Working::default();
        for (name, numbers, value) in &self.mix.facts {
            working.add(name, "held, by popularity", numbers.clone(), *value, "");
        }
        self.explain_accesses(&mut working);
        self.explain_delays(&mut working);
        self.explain_demands(&mut working);
        if let Some(drives) = &self.drives {
            self.explain_drives(drives, &mut working);
        }
        let (most, bottleneck) = &self.saturation;
        working.add(
            "saturation",
            "least capacity",
            format!("capacity({bottleneck})"),
            most * 1e9,
            "I/Os/s",
        );
        if let Some(at) = at {
            self.explain_point(asked, at, components.len(), &mut working);
        }
        let per_ns = at.map_or(*most, |at| at.throughput_per_s / 1e9);
        for (name, used) in components {
            let (formula, numbers) = self.utilisation(name, *used, per_ns, at);
            working.add(&format!("U({name})"), formula, numbers, *used, "");
        }
        working
    }

    fn explain_point(&self, asked: &Asked, at: &Point, components: usize, working: &mut Working) {
        let of_controllers = |part: &Part| Some((part.copies, part.controllers?));
        if let Some((copies, (count, crowding))) = self.parts.iter().find_map(of_controllers)
            && crowding > 1.0
        {
            working.add(
                "controllers at work",
                if self.mix.placed.is_some() {
                    "1 / share of the I/Os at the busiest"
                } else {
                    "streams / (1 - outstanding of a stream / I/Os in 1 MiB)"
                },
                format!("of {count}, whose turns the addresses decide"),
                f64::from(copies) / crowding,
                "controllers",
            );
        }
        let numbers = format!("mean value analysis of {components} components");
        working.add(
            "X",
            "with what is asked for",
            numbers,
            at.throughput_per_s,
            "I/Os/s",
        );
        let (formula, numbers) = match asked.outstanding() {
            Some(outstanding) => {
                let rate = figure(at.throughput_per_s / 1e3);
                let think = ms(asked.think_ns());
                let numbers = format!("{outstanding} / {rate} per ms - {think} ms");
                ("N / X - Z, by Little's law", numbers)
            }
            None => (
                "sum of residences and delays",
                String::from("of an open load"),
            ),
        };
        working.add("R", formula, numbers, at.response_ns / 1e6, "ms");
    }

    /// The utilisation law for a component at a rate, with the numbers put in.
    fn utilisation(
        &self,
        name: &str,
        used: f64,
        per_ns: f64,
        at: Option<&Point>,
    ) -> (&'static str, String) {
        let rate = format!("{} per s", figure(per_ns * 1e9));
        let moved = at.map_or(self.moved, |at| at.moved);
        if let Some(part) = self
            .parts_moving(moved)
            .iter()
            .find(|part| part.name == name)
        {
            let numbers = format!(
                "{rate} x {} ms / ({} x {})",
                ms(part.demand_ns(&self.classes)),
                part.all(),
                part.servers
            );
            return ("X x D / (copies x servers)", numbers);
        }
        let alive = self.view.pool.drives - self.view.pool.failed;
        match (at.and_then(|at| self.drives_ns(at)), &self.drives) {
            (Some(busy_ns), _) => {
                let numbers = format!("{rate} x {} ms of all drives / {alive}", ms(busy_ns));
                ("X x work as followed / drives", numbers)
            }
            (None, Some(drives)) => {
                let accesses = self.sets.all() * drives.wide * drives.each;
                let service_ns = used * f64::from(alive) / (per_ns * accesses);
                let numbers = format!(
                    "{rate} x {} x {} ms / {alive}",
                    figure(accesses),
                    ms(service_ns)
                );
                ("X x V x S(queue while it has work) / drives", numbers)
            }
            (None, None) => ("", String::new()),
        }
    }

    fn explain_accesses(&self, working: &mut Working) {
        for kind in &self.mix.kinds {
            let accesses = kind.waits.as_ref().map_or(0.0, |waits| waits.ask.count());
            let numbers = format!("{} of all I/Os", figure(kind.class.share));
            working.add(
                &format!("accesses({})", kind.class.name),
                "mean over the layout",
                numbers,
                accesses,
                "accesses",
            );
        }
        let writes = self.mix.share(Way::Write);
        if writes > 0.0 && !self.mix.destaging.is_empty() {
            let destages: f64 = self.mix.destaging.iter().map(|work| work.per_io).sum();
            let accesses: f64 = self
                .mix
                .destaging
                .iter()
                .map(|work| work.per_io * work.ask.count())
                .sum();
            let numbers = format!(
                "{} destages x {} / {} written",
                figure(destages),
                figure(accesses / destages),
                figure(writes)
            );
            working.add(
                "factor(write)",
                "destages x accesses / writes",
                numbers,
                accesses / writes,
                "accesses",
            );
        }
    }

    /// What delays I/Os and occupies nobody.
    fn explain_delays(&self, working: &mut Working) {
        for part in &self.parts {
            let (delays, name) = if part.servers == 0 {
                (&part.foreground_ns, part.name.to_owned())
            } else {
                (&part.latency_ns, format!("{}, latency", part.name))
            };
            let delayed = self.classes.iter().zip(delays);
            let delayed = delayed.filter(|(_, delay)| **delay > 0.0);
            let (terms, sums): (Vec<String>, Vec<f64>) = delayed
                .map(|(class, &delay)| {
                    let term = format!("{} x {}", figure(class.share), ms(delay));
                    (term, class.share * delay)
                })
                .unzip();
            if !terms.is_empty() {
                let numbers = format!("{} ms", terms.join(" + "));
                let delay_ms = sums.iter().sum::<f64>() / 1e6;
                let name = format!("delay({name})");
                working.add(&name, "sum of share x delay", numbers, delay_ms, "ms");
            }
        }
    }

    fn explain_demands(&self, working: &mut Working) {
        let sum = match self.moved {
            Some(_) => "sum of share x work, of writes that go along with others",
            None => "sum of share x work",
        };
        let parts = self.parts_moving(self.moved);
        for part in parts.iter().filter(|part| part.servers > 0) {
            let used = self
                .classes
                .iter()
                .zip(&part.foreground_ns)
                .filter(|(_, work)| **work > 0.0);
            // With fewer controllers at work each has as much more to do, which isn't the I/O's demand.
            let crowding = part.controllers.map_or(1.0, |(_, crowding)| crowding);
            let of_one = |work: f64| ms(work / crowding);
            let mut terms: Vec<String> = used
                .map(|(class, work)| format!("{} x {}", figure(class.share), of_one(*work)))
                .collect();
            if part.background_ns > 0.0 {
                terms.push(format!("{} in the background", of_one(part.background_ns)));
            }
            let demand = part.demand_ns(&self.classes);
            working.add(
                &format!("D({})", part.name),
                sum,
                format!("{} ms", terms.join(" + ")),
                demand / 1e6,
                "ms",
            );
            let even = format!("{} x {} / {} ms", part.all(), part.servers, ms(demand));
            let (formula, numbers) = if part.uneven > 1.0 {
                let numbers = format!("{even} / {}", figure(part.uneven));
                (
                    "copies x servers / D / what the busiest has of a mean one's",
                    numbers,
                )
            } else {
                ("copies x servers / D", even)
            };
            let capacity = part.most_per_ns(&self.classes) * 1e9;
            working.add(
                &format!("capacity({})", part.name),
                formula,
                numbers,
                capacity,
                "I/Os/s",
            );
        }
    }

    fn explain_drives(&self, drives: &Drives, working: &mut Working) {
        let (alone, crowded) = (drives.curve.at(1.0), drives.curve.best().1);
        working.add(
            "S(1)",
            "service of an access, alone",
            "drive model".to_owned(),
            alone.mean_ns / 1e6,
            "ms",
        );
        working.add(
            "S(tags)",
            "time between accesses, queue full",
            "drive model".to_owned(),
            crowded.mean_ns / 1e6,
            "ms",
        );
        let sets = self.sets.all();
        let numbers = [sets, drives.wide, drives.each].map(figure).join(" x ");
        let accesses = sets * drives.wide * drives.each;
        working.add(
            "V(disks)",
            "sets x drives of a set x accesses there",
            numbers,
            accesses,
            "accesses",
        );
        let full_ns = accesses * crowded.mean_ns;
        let numbers = format!("{} x {} ms", figure(accesses), ms(crowded.mean_ns));
        working.add("D(disks)", "V x S(tags)", numbers, full_ns / 1e6, "ms");
        self.explain_capacity(drives, full_ns, working);
    }

    /// What all drives can do, of which an I/O takes so much with full queues.
    fn explain_capacity(&self, drives: &Drives, full_ns: f64, working: &mut Working) {
        let numbers = format!("{} / {} ms", figure(drives.count), ms(full_ns));
        let (full, sets) = (drives.count / full_ns, self.sets.all());
        let capacity = self.drives_limit(drives);
        let mut at_most = |formula: &str, numbers: String| {
            working.add(
                "capacity(disks)",
                formula,
                numbers,
                capacity * 1e9,
                "I/Os/s",
            );
        };
        if self.streamed.is_some() {
            let how = if self.saturation.1 == "disks" {
                "as followed over the modelled drives"
            } else {
                "as followed over the modelled drives, at least"
            };
            return at_most(
                how,
                String::from("the highest rate of the numbers outstanding that were looked at"),
            );
        }
        if self.bound.is_infinite() {
            let (formula, numbers) = if capacity < full * (1.0 - 1e-9) {
                (
                    "what the busiest drives or the loops let pass",
                    format!("less than {numbers}"),
                )
            } else {
                ("drives / D", numbers)
            };
            return at_most(formula, numbers);
        }
        // The cache lets so many destages be at the drives: some drives always have nothing to do.
        let (bound, destages) = (self.bound, self.mix.most_destages);
        working.add(
            "full(disks)",
            "drives / D, if all always had work",
            numbers,
            full * 1e9,
            "I/Os/s",
        );
        let numbers = format!(
            "{destages} / {} of all sets at the drives",
            figure(destages / bound)
        );
        working.add(
            "N(disks)",
            "destages at a time / their share",
            numbers,
            bound,
            "sets",
        );
        let numbers = format!(
            "{} per s, what {} drives do of {} sets at a time, / {}",
            figure(capacity * sets * 1e9),
            figure(drives.count),
            figure(bound),
            figure(sets)
        );
        working.add(
            "capacity(disks)",
            "rate of sets / sets of an I/O",
            numbers,
            capacity * 1e9,
            "I/Os/s",
        );
        let numbers = format!(
            "{} / {} per ms / {}",
            figure(bound),
            figure(capacity * 1e6),
            figure(sets)
        );
        working.add(
            "R(disks)",
            "N / capacity / sets of an I/O, by Little's law",
            numbers,
            bound / (capacity * sets) / 1e6,
            "ms",
        );
    }
}
