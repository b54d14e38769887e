//! The working of a described system: what its I/Os ask for, component by component, with the numbers put in.

use super::drives::Drives;
use super::solver::Solver;
use super::system::Point;
use super::working::Working;
use crate::sim::Way;

impl Solver<'_> {
    /// How it was found, as on paper.
    pub(super) fn working(&self, at: Option<&Point>, components: &[(String, f64)]) -> Working {
        let mut working = Working::default();
        for (name, numbers, value) in &self.mix.facts {
            working.add(name, "held, by popularity", numbers.clone(), *value, "");
        }
        self.explain_accesses(&mut working);
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
            self.explain_point(at, components.len(), &mut working);
        }
        let per_ns = at.map_or(*most, |at| at.throughput_per_s / 1e9);
        for (name, used) in components {
            let (formula, numbers) = self.utilisation(name, *used, per_ns, at);
            working.add(&format!("U({name})"), formula, numbers, *used, "");
        }
        working
    }

    fn explain_point(&self, at: &Point, components: usize, working: &mut Working) {
        if let Some((count, crowding)) = self.parts.iter().find_map(|part| part.controllers)
            && crowding > 1.0
        {
            let part = self.parts.iter().find(|part| part.controllers.is_some());
            let copies = part.map_or(0, |part| part.copies);
            working.add(
                "controllers at work",
                "streams / (1 - outstanding of a stream / I/Os in 1 MiB)",
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
        working.add(
            "R",
            "N / X - Z",
            "by Little's law".to_owned(),
            at.response_ns / 1e6,
            "ms",
        );
    }

    /// The utilisation law for a component at a rate, with the numbers put in.
    fn utilisation(
        &self,
        name: &str,
        used: f64,
        per_ns: f64,
        at: Option<&Point>,
    ) -> (&'static str, String) {
        let rate = format!("{:.1} per s", per_ns * 1e9);
        if let Some(part) = self.parts.iter().find(|part| part.name == name) {
            let numbers = format!(
                "{rate} x {:.4} ms / ({} x {})",
                part.demand_ns(&self.classes) / 1e6,
                part.all(),
                part.servers
            );
            return ("X x D / (copies x servers)", numbers);
        }
        let alive = self.view.pool.drives - self.view.pool.failed;
        match (at.and_then(|at| at.drives_ns), &self.drives) {
            (Some(busy_ns), _) => {
                let work = busy_ns / 1e6;
                let numbers = format!("{rate} x {work:.4} ms of all drives / {alive}");
                ("X x work as followed / drives", numbers)
            }
            (None, Some(drives)) => {
                let accesses = self.sets.all() * drives.wide * drives.each;
                let service_ns = used * f64::from(alive) / (per_ns * accesses);
                let numbers = format!(
                    "{rate} x {accesses:.4} x {:.3} ms / {alive}",
                    service_ns / 1e6
                );
                ("X x V x S(queue while it has work) / drives", numbers)
            }
            (None, None) => ("", String::new()),
        }
    }

    fn explain_accesses(&self, working: &mut Working) {
        for kind in &self.mix.kinds {
            let accesses = kind.waits.as_ref().map_or(0.0, |waits| waits.ask.count());
            let numbers = format!("{:.4} of all I/Os", kind.class.share);
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
                "{:.4} destages x {:.4} / {:.4} written",
                destages,
                accesses / destages,
                writes
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

    fn explain_demands(&self, working: &mut Working) {
        for part in self.parts.iter().filter(|part| part.servers > 0) {
            let used = self
                .classes
                .iter()
                .zip(&part.foreground_ns)
                .filter(|(_, work)| **work > 0.0);
            // With fewer controllers at work each has as much more to do, which isn't the I/O's demand.
            let crowding = part.controllers.map_or(1.0, |(_, crowding)| crowding);
            let of_one = |work: f64| work / crowding / 1e6;
            let mut terms: Vec<String> = used
                .map(|(class, work)| format!("{:.4} x {:.4}", class.share, of_one(*work)))
                .collect();
            if part.background_ns > 0.0 {
                terms.push(format!(
                    "{:.4} in the background",
                    of_one(part.background_ns)
                ));
            }
            let demand = part.demand_ns(&self.classes);
            working.add(
                &format!("D({})", part.name),
                "sum of share x work",
                format!("{} ms", terms.join(" + ")),
                demand / 1e6,
                "ms",
            );
            let numbers = format!("{} x {} / {:.4} ms", part.all(), part.servers, demand / 1e6);
            let capacity = part.most_per_ns(&self.classes) * 1e9;
            working.add(
                &format!("capacity({})", part.name),
                "copies x servers / D",
                numbers,
                capacity,
                "I/Os/s",
            );
        }
    }

    fn explain_drives(&self, drives: &Drives, working: &mut Working) {
        let (alone, crowded) = (drives.curve.at(1.0), drives.curve.last());
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
        let numbers = format!("{:.4} x {:.4} x {:.4}", sets, drives.wide, drives.each);
        let accesses = sets * drives.wide * drives.each;
        working.add(
            "V(disks)",
            "sets x drives of a set x accesses there",
            numbers,
            accesses,
            "accesses",
        );
        let full_ns = accesses * crowded.mean_ns;
        let numbers = format!("{accesses:.4} x {:.4} ms", crowded.mean_ns / 1e6);
        working.add("D(disks)", "V x S(tags)", numbers, full_ns / 1e6, "ms");
        let numbers = format!("{:.1} / {:.4} ms", drives.count, full_ns / 1e6);
        let full = drives.count / full_ns;
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
                String::from("the highest rate of any number outstanding"),
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
            "{destages} / {:.4} of all sets at the drives",
            destages / bound
        );
        working.add(
            "N(disks)",
            "destages at a time / their share",
            numbers,
            bound,
            "sets",
        );
        let residence_ns = bound / (capacity * sets);
        let numbers = format!("so many sets at {:.1} drives", drives.count);
        working.add(
            "R(disks)",
            "residence of a set",
            numbers,
            residence_ns / 1e6,
            "ms",
        );
        let numbers = format!("{bound:.1} / {:.4} ms / {sets:.4}", residence_ns / 1e6);
        working.add(
            "capacity(disks)",
            "N / R / sets of an I/O",
            numbers,
            capacity * 1e9,
            "I/Os/s",
        );
    }
}
