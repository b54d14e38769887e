//! Arrays of the catalog obey the utilisation law and stay within the asymptotic bounds, simulated and solved, with demands that are worked
//! out here from the figures of their descriptions (Denning and Buzen 1978, "The operational analysis of queueing network models").

mod solved;

use loadline_model::System;
use loadline_model::layout::Kind;
use loadline_model::sim::{Arrival, Plan, Seed, Stream};
use loadline_model::system::Link;
use loadline_model::units::{Bytes, Time};
use solved::{stream, system};

const BLOCK: u64 = 8192;

/// What each I/O is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Load {
    /// A read of what the cache holds.
    Hit,
    /// A read at any place of the volume.
    Read,
    /// A write at any place that goes through the cache.
    Write,
}

impl Load {
    fn of(self, system: &System, outstanding: u32) -> Stream {
        let read = f64::from(u8::from(self != Load::Write));
        let mut asked = stream(system, BLOCK, read, 1.0, Arrival::outstanding(outstanding));
        if self == Load::Hit {
            asked.profile.working_set = Bytes(16 << 20);
        }
        asked
    }
}

/// Time in ms that a mean I/O takes of a component, and how many of it there are to take it of.
struct Demand {
    name: &'static str,
    ms: f64,
    servers: f64,
}

fn demands(system: &System, load: Load) -> Vec<Demand> {
    let description = system.description();
    let ms = |time: Time| time.ns() as f64 / 1e6;
    let carried = |link: &Link, ios: f64| ios * BLOCK as f64 / link.kind().rate.0 as f64 * 1e3;
    let way = |inward: &'static str, outward| if load == Load::Write { inward } else { outward };
    let missed = match (load, &description.cache) {
        (Load::Hit, _) => 0.0,
        // Least recent use of places that are all alike keeps as large a share as there is room for.
        (Load::Read, Some(cache)) => {
            let held = cache.read.0 + if cache.shared { cache.write.0 } else { 0 };
            1.0 - held as f64 / system.capacity().unwrap() as f64
        }
        _ => 1.0,
    };
    let accesses = match (load, description.volume.as_ref().unwrap().layout) {
        (Load::Hit | Load::Read, _) | (_, Kind::Jbod | Kind::Raid0 | Kind::Vraid0) => missed,
        (_, Kind::Raid1 | Kind::Raid10 | Kind::Vraid1) => 2.0,
        (_, Kind::Raid5 | Kind::Vraid5) => 4.0,
        (_, Kind::Raid6 | Kind::Vraid6) => 6.0,
    };
    let mut found = Vec::new();
    if let Some(hosts) = &description.hosts {
        if let Some(link) = &hosts.link {
            let name = way("host links in", "host links out");
            let servers = f64::from(hosts.count * hosts.ports);
            found.push(Demand {
                name,
                ms: carried(link, 1.0),
                servers,
            });
        }
    }
    if let Some(controller) = &description.controller {
        let command = match load {
            Load::Write => ms(controller.command_write),
            _ => (1.0 - missed) * ms(controller.command_hit) + missed * ms(controller.command_read),
        };
        found.push(Demand {
            name: "controllers",
            ms: command + accesses * ms(controller.command_disk),
            servers: f64::from(controller.count * controller.cores),
        });
        if let Some(bus) = &controller.bus {
            let name = way("controller buses in", "controller buses out");
            let servers = f64::from(controller.count);
            found.push(Demand {
                name,
                ms: carried(bus, 1.0),
                servers,
            });
        }
    }
    if let (Some(backend), Load::Hit | Load::Read) = (&description.backend, load) {
        let servers = f64::from(backend.loops);
        found.push(Demand {
            name: if backend.link.kind().half_duplex {
                "loops"
            } else {
                "loops out"
            },
            ms: carried(&backend.link, missed),
            servers,
        });
    }
    found.retain(|demand| demand.ms > 0.0);
    found
}

/// The utilisation law and the bounds, of what an analysis found.
fn keeps_the_laws(
    what: &str,
    outstanding: u32,
    per_ms: f64,
    demands: &[Demand],
    used: impl Fn(&str) -> Option<f64>,
) {
    let mut together = 0.0;
    for &Demand { name, ms, servers } in demands {
        let law = per_ms * ms / servers;
        let found = used(name).unwrap_or_else(|| panic!("{what}: no {name}"));
        // Reads that hit are drawn.
        assert!(
            (found / law - 1.0).abs() < 0.02,
            "{what}: {name} {found} instead of {law}"
        );
        assert!(
            law < 1.02,
            "{what}: {per_ms} a ms are more than {name} pass"
        );
        together += ms;
    }
    // What one I/O takes of all, with no wait.
    assert!(
        per_ms * together < 1.02 * f64::from(outstanding),
        "{what}: {per_ms} a ms, though each takes {together} ms"
    );
}

#[test]
fn what_lies_before_the_drives_is_used_for_what_its_figures_say_and_never_more() {
    let mut compared = 0;
    for name in [
        "dl360-g5-p400i",
        "dl360-g6-p410i",
        "dl360-g7-p410i",
        "dl360p-g8-p420i",
        "eva-v2-10k",
        "eva-v2-15k",
        "hdd-7k2",
        "md-raid5-8x2tb",
        "perc-h730-1x4tb",
        "sas-10k-jbod",
    ] {
        for load in [Load::Hit, Load::Read, Load::Write] {
            let cached = system(name, &[]).description().cache.is_some();
            let settings: &[(&str, &str)] = if cached {
                &[("cache.mode", "write-through")]
            } else {
                &[]
            };
            if load == Load::Hit && !cached {
                continue;
            }
            let system = system(name, settings);
            let demands = demands(&system, load);
            for outstanding in [1, 64] {
                let asked = [load.of(&system, outstanding)];
                let what = format!("{name}, {load:?} x {outstanding}");
                let simulation = system.simulate(&asked, Plan::ios(20_000), Seed(1)).unwrap();
                let components = simulation.components().to_vec();
                let outcome = simulation.finish();
                keeps_the_laws(
                    &format!("{what}, simulated"),
                    outstanding,
                    outcome.iops / 1e3,
                    &demands,
                    |name| {
                        components
                            .iter()
                            .find(|one| one.name == name)?
                            .utilisation(&outcome)
                    },
                );
                let solution = system.solve(&asked, outstanding, false).unwrap();
                let per_ms = solution.at.unwrap().throughput_per_s / 1e3;
                keeps_the_laws(
                    &format!("{what}, solved"),
                    outstanding,
                    per_ms,
                    &demands,
                    |name| Some(solution.components.iter().find(|one| one.0 == name)?.1),
                );
                compared += demands.len();
            }
        }
    }
    assert!(compared >= 60, "{compared}");
}
