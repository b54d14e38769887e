//! The rule of thumb for a described system: where its numbers come from.

use super::rule::Rule;
use crate::Error;
use crate::device::disk::Model;
use crate::sim::Stream;
use crate::simulation::System;

impl System {
    /// The rule of thumb for the mix of the streams, whatever their load.
    ///
    /// A disk's rate is that of the description's `[rule]`, else 1 / (mean seek + half a revolution) of its drive: no
    /// transfer, no processing, as one reckons from a data sheet.
    ///
    /// # Errors
    /// [`Error::Description`] for what [`System::check`] refuses, and for queueing stations, which have no disks.
    pub fn rule(&self, streams: &[Stream]) -> Result<Rule, Error> {
        self.check(streams)?;
        let description = self.description();
        let parts = (&description.pool, &description.volume, self.drive());
        let (Some(pool), Some(volume), Some(drive)) = parts else {
            let why = "the rule of thumb is about disks, and there are none: solve or simulate it";
            return Err(Error::at("station", why));
        };
        let given = description.rule.as_ref();
        let rate = given.and_then(|rule| rule.disk_rate_per_s);
        let bandwidth = given
            .and_then(|rule| rule.bandwidth)
            .map(|rate| rate.0 as f64);
        let count = streams.len() as f64;
        let mean = |of: fn(&Stream) -> f64| streams.iter().map(of).sum::<f64>() / count;
        Ok(Rule {
            disks: pool.drives,
            disk_rate_per_s: rate.unwrap_or_else(|| 1e9 / positioning_ns(drive)),
            read_fraction: mean(|stream| stream.profile.read_fraction),
            write_accesses: Rule::write_accesses(volume.layout, pool.drives),
            // The report takes 24 KiB for 24 kB.
            block_bytes: mean(|stream| stream.profile.mean_bytes()) * 1000.0 / 1024.0,
            bandwidth_bytes_per_s: bandwidth,
        })
    }
}

/// Mean seek between two random cylinders, and half a revolution.
fn positioning_ns(drive: &Model) -> f64 {
    let last = drive.run(drive.sectors().saturating_sub(1), 1);
    let cylinders = f64::from(last.map_or(0, |run| run.cylinder)) + 1.0;
    let weighted = |distance: u32| {
        let weight = 2.0 * (cylinders - f64::from(distance)) / (cylinders * cylinders);
        drive.seek(distance).map(|seek| weight * seek.ns() as f64)
    };
    let seek: f64 = (1..cylinders as u32).map_while(weighted).sum();
    seek + drive.revolution().ns() as f64 / 2.0
}
