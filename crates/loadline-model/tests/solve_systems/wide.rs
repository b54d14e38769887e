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
