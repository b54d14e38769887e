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
        let (limit, bottleneck) = &self.limit;
        working.add(
            "saturation",
            "least capacity",
            format!("capacity({bottleneck})"),
            limit * 1e9,
            "I/Os/s",
        );
        if let Some(at) = at {
            let numbers = format!("mean value analysis of {} components", components.len());
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
        for (name, used) in components {
            working.add(
                &format!("U({name})"),
                "X x D / servers",
                String::from("as above"),
                *used,
                "",
            );
        }
        working
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
            let mut terms: Vec<String> = used
                .map(|(class, work)| format!("{:.4} x {:.4}", class.share, work / 1e6))
                .collect();
            if part.background_ns > 0.0 {
                terms.push(format!("{:.4} in the background", part.background_ns / 1e6));
            }
            let demand = part.mean_ns(&self.classes) + part.background_ns;
            working.add(
                &format!("D({})", part.name),
                "sum of share x work",
                format!("{} ms", terms.join(" + ")),
                demand / 1e6,
                "ms",
            );
            let numbers = format!(
                "{} x {} / {:.4} ms",
                part.copies,
                part.servers,
                demand / 1e6
            );
            let capacity = part.capacity(&self.classes) * 1e9;
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
        if self.bound.is_finite() {
            let destages = format!("{} destages at most", self.mix.most_destages);
            working.add(
                "N(disks) at most",
                "sets with so many destages among them",
                destages,
                self.bound,
                "sets",
            );
        }
        let numbers = format!("{:.1} drives, V, S", drives.count);
        let capacity = self.drives_limit(drives) * 1e9;
        let how = match self.streamed {
            None => "drives / (V x S), or with the destages there can be",
            Some(_) if self.limit.1 == "disks" => "windows followed over the modelled drives",
            Some(_) => "windows followed over the modelled drives, at least",
        };
        working.add("capacity(disks)", how, numbers, capacity, "I/Os/s");
    }
}
