//! Large I/Os at many drives side by side.

use super::off;
use super::solved::{stream, system};
use loadline_model::sim::Arrival;

#[test]
fn drives_that_have_come_from_one_place_together_take_equally_long_with_their_arms() {
    // As if each arm came from anywhere 15 to 17 % too slow.
    for (drive, drives, outstanding) in [
        ("sata-7k2-2tb", "8", 1),
        ("sata-7k2-2tb", "24", 4),
        ("constellation-es3-4tb", "8", 1),
        ("constellation-es3-4tb", "24", 4),
        ("savvio-10k3-300", "24", 4),
    ] {
        let settings = [
            ("pool.drive", drive),
            ("pool.drives", drives),
            ("volume.layout", "raid0"),
            ("volume.chunk", "128KiB"),
        ];
        let system = system("sas-10k-jbod", &settings);
        let arrival = Arrival::outstanding(outstanding);
        let asked = stream(&system, 1 << 20, 1.0, 1.0, arrival);
        let off = off(&system, asked, outstanding, 20_000);
        assert!(off.abs() < 0.07, "{settings:?} x {outstanding}: {off:+.3}");
    }
}

#[test]
fn reads_of_a_lost_drive_cost_the_others_one_access_each() {
    for (layout, drives, parities) in [
        ("raid5", 12, 1),
        ("raid5", 24, 1),
        ("raid6", 24, 2),
        ("raid6", 36, 2),
    ] {
        let saturation = |failed: &str| {
            let drives = drives.to_string();
            let settings = [
                ("volume.layout", layout),
                ("pool.drives", &drives),
                ("pool.failed", failed),
            ];
            let system = system("sas-10k-jbod", &settings);
            let asked = stream(&system, 4096, 1.0, 1.0, Arrival::outstanding(64));
            system.solve(&[asked], 0, false).unwrap().saturation_per_s
        };
        let n = f64::from(drives);
        let left = (n - 1.0) / n;
        let exact = left / (left + (n - f64::from(parities)) / n);
        let off = saturation("1") / saturation("0") / exact - 1.0;
        assert!(off.abs() < 0.05, "{layout} of {drives}: {off:+.3}");
    }
}
