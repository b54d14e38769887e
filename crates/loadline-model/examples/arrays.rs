//! How fast arrays are simulated on one core: host I/Os a second, each beside a bare event loop in the same run.
//!
//! `cargo run --release -p loadline-model --example arrays -- CATALOG [SECONDS [WHAT]]`, where CATALOG holds `systems` and `drives`.
//! Each line: what, drives, outstanding, host I/Os a second, ratio to the bare loop, start in ms (built, and its cache warm), most memory in MB so far.

mod bare;

use bare::rate;
use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Plan, Profile, Seed, Stream, Until, Warmup};
use loadline_model::system::SystemDescription;
use loadline_model::units::{Bytes, Time};
use std::path::Path;
use std::time::{Duration, Instant};

const DISK: &str = "title = \"one disk\"\npool = { drives = 1, drive = \"cheetah-10k6-146\", scheduling = \"sptf\", tags = 32 }\nvolume = { layout = \"jbod\" }";
const RAID: &str = "title = \"RAID 5\"\npool = { drives = 9, drive = \"cheetah-10k6-146\" }\nvolume = { layout = \"raid5\" }";
const STRIPES: &str = "title = \"stripes\"\npool = { drives = 8, drive = \"cheetah-10k6-146\" }\nvolume = { layout = \"raid0\" }";

struct Case {
    what: &'static str,
    description: String,
    settings: Vec<(String, String)>,
    read: f64,
    outstanding: u32,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let catalog = arguments.next().expect("the catalog's folder");
    let catalog = Path::new(&catalog);
    let seconds = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0);
    let least = Duration::from_secs_f64(seconds);
    let only = arguments.next();
    let read = |path: &str| std::fs::read_to_string(catalog.join(path)).expect(path);
    let case = |what, description: &str, drives: u32, read, outstanding| Case {
        what,
        description: description.to_owned(),
        settings: if drives == 0 {
            vec![]
        } else {
            vec![("pool.drives".to_owned(), drives.to_string())]
        },
        read,
        outstanding,
    };
    let eva = read("systems/eva-v2-10k.toml");
    let mut cases = vec![
        case("disk", DISK, 0, 1.0, 32),
        case("raid5", RAID, 0, 0.67, 32),
        case("eva", &eva, 0, 0.67, 700),
    ];
    cases.extend([8, 64, 1024].map(|drives| case("disks", STRIPES, drives, 1.0, 4 * drives)));
    cases
        .extend([1, 32, 4096].map(|outstanding| case("outstanding", STRIPES, 0, 1.0, outstanding)));
    println!(
        "{:>12} {:>6} {:>11} {:>12} {:>7} {:>9} {:>9}",
        "what", "drives", "outstanding", "I/Os a s", "ratio", "start ms", "memory MB"
    );
    for case in cases
        .iter()
        .filter(|case| only.as_ref().is_none_or(|only| only == case.what))
    {
        let description =
            SystemDescription::from_toml(&case.description, &case.settings).expect(case.what);
        let pool = description.pool.clone().expect("an array");
        let drive = DriveDescription::from_toml(&read(&format!("drives/{}.toml", pool.drive)))
            .expect("a drive");
        let start = Instant::now();
        let system = System::new(description, Some(&drive)).expect(case.what);
        let stream = Stream {
            profile: Profile {
                read_fraction: case.read,
                ..Profile::random_reads(Bytes(8192), Bytes(system.capacity().expect("an array")))
            },
            arrival: Arrival::outstanding(case.outstanding),
        };
        let ios = 100_000.max(u64::from(case.outstanding) * 100);
        let plan = Plan {
            warmup: Warmup::Span(Time::ZERO),
            until: Until::Ios(ios),
            ..Plan::ios(ios)
        };
        let simulate = || {
            let simulation = system.simulate(std::slice::from_ref(&stream), plan, Seed(1));
            simulation.expect(case.what)
        };
        let mut first = simulate();
        while first.outcome().events == 0 {
            first.work(4096);
        }
        let started = start.elapsed().as_secs_f64() * 1e3;
        let ours = rate(least, || simulate().finish().events, ios);
        let by_hand = rate(least / 4, || bare::closed_network(8, 32, ios), ios);
        println!(
            "{:>12} {:>6} {:>11} {ours:>12.0} {:>7.4} {started:>9.1} {:>9.0}",
            case.what,
            pool.drives,
            case.outstanding,
            ours / by_hand,
            most_memory_mb()
        );
    }
}

/// The most memory that the process has held, by the kernel's count.
fn most_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1e3
}
