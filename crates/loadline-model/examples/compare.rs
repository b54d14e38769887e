//! Simulates and solves systems of the catalog under profiles of its plain suites, closed at several depths, open at several shares of
//! saturation, and ramps at the load line that the solver finds; prints how far the two are apart, worst first, and a table: of the
//! points up to the load line, whose simulated mean response is within the limit of ramps, and of all.
//!
//! ```text
//! cargo run --release -p loadline-model --example compare -- [--ios N] [--system PART] [--profile PART] [--depth N,N]
//!     [--open PERCENT,PERCENT] [--set key=value]... [--keep FILE] [--explain]
//! ```
//!
//! `--keep` keeps simulated answers in a file, and takes those that are there from it: for work on the solver, which leaves the
//! simulator as it is. Each simulation counts so many I/Os, and up to ten times as many until its half-width is within 2 %;
//! a half-width above 3 % is marked.

use loadline_model::drive::DriveDescription;
use loadline_model::sim::{Arrival, Plan, Profile, Seed, Spread, Stream, Until};
use loadline_model::system::SystemDescription;
use loadline_model::units::Bytes;
use loadline_model::{System, sim};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Mean response up to which ramps go that don't say it, ms.
const LIMIT_MS: f64 = 30.0;

/// Half-widths at which simulations end, and above which they are marked, as shares of the mean.
const PRECISE: f64 = 0.02;
const UNSURE: f64 = 0.03;

/// The most outstanding I/Os that a ramp is asked for.
const MOST: u32 = 4096;

struct Arguments {
    ios: u64,
    system: String,
    profile: String,
    depths: Vec<u32>,
    open_percent: Vec<u32>,
    settings: Vec<(String, String)>,
    keep: Option<PathBuf>,
    explain: bool,
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        ios: 20_000,
        system: String::new(),
        profile: String::new(),
        depths: vec![1, 8, 64],
        open_percent: vec![30, 60, 85],
        settings: Vec::new(),
        keep: None,
        explain: false,
    };
    let numbers = |value: &str| -> Vec<u32> {
        let words = value.split(',').filter(|word| !word.is_empty());
        words.map(|word| word.parse().expect("a number")).collect()
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--explain" {
            found.explain = true;
            continue;
        }
        let value = words.next().expect("each argument has a value");
        match word.as_str() {
            "--ios" => found.ios = value.parse().expect("a number"),
            "--system" => found.system = value,
            "--profile" => found.profile = value,
            "--depth" => found.depths = numbers(&value),
            "--open" => found.open_percent = numbers(&value),
            "--keep" => found.keep = Some(value.into()),
            "--set" => {
                let (key, value) = value.split_once('=').expect("key=value");
                found.settings.push((key.to_owned(), value.to_owned()));
            }
            other => panic!("{other} is no argument"),
        }
    }
    found
}

fn catalog(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../python/loadline/catalog")
        .join(kind);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the catalog is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

fn system(path: &Path, settings: &[(String, String)]) -> Result<System, loadline_model::Error> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let description = SystemDescription::from_toml(&text, settings)?;
    let drive = description.pool.as_ref().map(|pool| {
        let path = catalog("drives")
            .into_iter()
            .find(|path| name(path) == pool.drive)
            .expect("a drive of the catalog");
        DriveDescription::from_toml(&std::fs::read_to_string(path).expect("a readable file"))
            .expect("a drive")
    });
    System::new(description, drive.as_ref())
}

/// By name, and the limit of each ramp, ms. Shares in percent, sizes with a bare letter: what suites of the catalog write.
fn profiles() -> Vec<(String, Profile, Option<f64>)> {
    let share = |value: &toml::Value| {
        let text = value.as_str().expect("text");
        text.trim_end_matches('%').parse::<f64>().expect("percent") / 100.0
    };
    let mut found = Vec::new();
    for path in catalog("suites") {
        if !SUITES.contains(&name(&path).as_str()) {
            continue;
        }
        let suite: toml::Table = std::fs::read_to_string(&path)
            .expect("a readable file")
            .parse()
            .expect("TOML");
        for profile in suite["profile"].as_array().expect("profiles") {
            let blocks = match &profile["block"] {
                toml::Value::String(size) => vec![(size.parse().expect("a size"), 1.0)],
                toml::Value::Table(sizes) => sizes
                    .iter()
                    .map(|(size, part)| {
                        (
                            size.parse()
                                .unwrap_or_else(|_| Bytes(size.parse().expect("bytes"))),
                            share(part),
                        )
                    })
                    .collect(),
                other => panic!("{other} is no block"),
            };
            let align = blocks
                .iter()
                .map(|block: &(Bytes, f64)| block.0)
                .min()
                .expect("a size");
            let profile_of = Profile {
                read_fraction: share(&profile["read"]),
                random_fraction: share(&profile["random"]),
                blocks,
                align,
                sequential_streams: 1,
                start: Bytes(0),
                working_set: Bytes(0),
                spread: Spread::Uniform,
            };
            found.push((
                profile["name"].as_str().expect("a name").to_owned(),
                profile_of,
                profile.get("limit").map(|limit| {
                    let text = limit.as_str().expect("text").trim_start_matches("mean<=");
                    let ms = text.trim_end_matches("ms");
                    ms.parse().expect("milliseconds")
                }),
            ));
        }
    }
    found
}

/// Suites whose profiles say sizes, shares and limits, and nothing else: no sweeps, no working sets.
const SUITES: [&str; 4] = [
    "database-ramp",
    "iometer-profiles",
    "typical-12",
    "web-ramp",
];

/// What is asked of a system under a profile.
#[derive(Clone, Copy)]
enum Load {
    Closed(u32),
    /// Per cent of the solved saturation.
    Open(u32),
    /// At the highest number outstanding whose mean response stays within the limit.
    Ramp,
}

/// Rates and responses: simulated, then solved.
struct Row {
    system: String,
    what: String,
    open: bool,
    /// Mean response of the load line.
    limit_ms: f64,
    iops: [f64; 2],
    response_ms: [f64; 2],
    read_ms: [f64; 2],
    write_ms: [f64; 2],
    half_width: f64,
    note: String,
}

impl Row {
    fn up_to_line(&self) -> bool {
        self.response_ms[0] <= self.limit_ms
    }

    fn unsure(&self) -> bool {
        self.half_width > UNSURE
    }

    /// Of throughput, which by Little's law is that of responses; of responses where the rate is given.
    fn error(&self) -> f64 {
        if self.open {
            self.response_ms[1] / self.response_ms[0] - 1.0
        } else {
            self.iops[1] / self.iops[0] - 1.0
        }
    }
}

/// What a simulation found: rate, mean responses of all, reads and writes in ms, relative half-width.
type Simulated = ([f64; 5], String);

struct Comparison {
    arguments: Arguments,
    kept: BTreeMap<String, Simulated>,
    solving: (u32, f64),
}

impl Comparison {
    fn simulate(
        &mut self,
        key: String,
        system: &System,
        streams: &[Stream],
    ) -> Result<Simulated, loadline_model::Error> {
        if let Some(known) = self.kept.get(&key) {
            return Ok(known.clone());
        }
        let ios = self.arguments.ios;
        let plan = Plan {
            until: Until::Precise {
                relative: PRECISE,
                least: ios,
                most: 10 * ios,
            },
            ..Plan::ios(0)
        };
        let simulation = system.simulate(streams, plan, Seed(1))?;
        let components = simulation.components().to_vec();
        let outcome = simulation.finish();
        let ms = |answers: &sim::Answers| answers.responses.mean_ns().unwrap_or(0.0) / 1e6;
        let relative = |estimate: Option<sim::Estimate>| {
            estimate.map_or(f64::NAN, |found| found.half_width / found.mean)
        };
        let used = |component: &loadline_model::Component| {
            Some(format!(
                "{} {:.2}",
                component.name,
                component.utilisation(&outcome)?
            ))
        };
        let mut notes: Vec<_> = components.iter().filter_map(used).collect();
        if !outcome.steady {
            notes.insert(0, "not steady".into());
        }
        let half_width = relative(outcome.response_ns_estimate);
        let found = [
            outcome.iops,
            ms(&outcome.all()),
            ms(&outcome.reads),
            ms(&outcome.writes),
            half_width,
        ];
        let simulated = (found, notes.join(", "));
        if let Some(path) = &self.arguments.keep {
            use std::io::Write;
            let mut file = std::fs::File::options()
                .append(true)
                .create(true)
                .open(path)
                .expect("a writable file");
            let numbers: Vec<_> = found.iter().map(f64::to_string).collect();
            writeln!(file, "{key}\t{}\t{}", numbers.join("\t"), simulated.1)
                .expect("room in the file");
        }
        self.kept.insert(key, simulated.clone());
        Ok(simulated)
    }

    fn compare(
        &mut self,
        (label, system): (&str, &System),
        (name, profile, limit_ms): (&str, &Profile, f64),
        load: Load,
    ) -> Result<Option<Row>, loadline_model::Error> {
        let largest = profile
            .blocks
            .iter()
            .map(|block| block.0.0)
            .max()
            .unwrap_or(1);
        let working_set = system
            .capacity()
            .map_or(1 << 40, |capacity| capacity / largest * largest);
        let stream = |arrival| Stream {
            profile: Profile {
                working_set: Bytes(working_set),
                ..profile.clone()
            },
            arrival,
        };
        let (arrival, load) = match load {
            Load::Closed(depth) => (Arrival::outstanding(depth), format!("{depth}")),
            Load::Open(percent) => {
                let saturation = system
                    .solve(&[stream(Arrival::outstanding(1))], 1, false)?
                    .saturation_per_s;
                // To a tenth of a per cent, so that kept answers go on being of use.
                let rate = format!("{:.2e}", saturation * f64::from(percent) / 100.0);
                (
                    Arrival::poisson(rate.parse().expect("a number")),
                    format!("{percent}% {rate}/s"),
                )
            }
            Load::Ramp => {
                let curve = system
                    .solve(&[stream(Arrival::outstanding(1))], MOST, false)?
                    .curve;
                let line = curve
                    .partition_point(|point| point.response_ns <= limit_ms * 1e6)
                    .max(1);
                (Arrival::outstanding(line as u32), format!("line {line}"))
            }
        };
        let open = matches!(arrival, Arrival::Open { .. });
        let streams = [stream(arrival)];
        let what = format!("{label:<15} {name:<24} {load:>12}");
        let key = format!(
            "{what} {:?} {}",
            self.arguments.settings, self.arguments.ios
        );
        let (simulated, notes) = self.simulate(key, system, &streams)?;
        let begun = Instant::now();
        let solution = system.solve(&streams, 0, self.arguments.explain)?;
        self.solving = (
            self.solving.0 + 1,
            self.solving.1 + begun.elapsed().as_secs_f64(),
        );
        if let Some(working) = &solution.working {
            println!("{what}\n{working}");
        }
        let Some(at) = solution.at else {
            // From outside streams saturate below what as many as are outstanding otherwise do.
            println!("{what}: above {:.2e}/s", solution.saturation_per_s);
            return Ok(None);
        };
        let [iops, response_ms, read_ms, write_ms, half_width] = simulated;
        let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / 1e6;
        let components: Vec<_> = solution
            .components
            .iter()
            .map(|(name, used)| format!("{name} {used:.2}"))
            .collect();
        Ok(Some(Row {
            system: label.to_owned(),
            what,
            open,
            limit_ms,
            iops: [iops, at.throughput_per_s],
            response_ms: [response_ms, at.response_ns / 1e6],
            read_ms: [read_ms, ms(at.read_response_ns)],
            write_ms: [write_ms, ms(at.write_response_ns)],
            half_width,
            note: format!("{notes} / {}", components.join(", ")),
        }))
    }
}

fn kept(path: &Path) -> BTreeMap<String, Simulated> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let entry = |line: &str| {
        let fields: Vec<_> = line.split('\t').collect();
        let numbers = std::array::from_fn(|field| fields[field + 1].parse().expect("a number"));
        (fields[0].to_owned(), (numbers, fields[6].to_owned()))
    };
    text.lines().map(entry).collect()
}

fn main() {
    let arguments = arguments();
    let kept = arguments.keep.as_deref().map(kept).unwrap_or_default();
    let mut comparison = Comparison {
        arguments,
        kept,
        solving: (0, 0.0),
    };
    let mut rows = Vec::new();
    let profiles = profiles();
    for path in catalog("systems") {
        let label = name(&path);
        if !label.contains(&comparison.arguments.system) {
            continue;
        }
        let system = match system(&path, &comparison.arguments.settings) {
            Ok(system) => system,
            Err(why) => {
                println!("{label}: {why}");
                continue;
            }
        };
        for (name, profile, limit_ms) in &profiles {
            if !name.contains(&comparison.arguments.profile) {
                continue;
            }
            let closed = comparison
                .arguments
                .depths
                .iter()
                .map(|&depth| Load::Closed(depth));
            let open = comparison
                .arguments
                .open_percent
                .iter()
                .map(|&percent| Load::Open(percent));
            let loads: Vec<_> = closed
                .chain(open)
                .chain(limit_ms.map(|_| Load::Ramp))
                .collect();
            for load in loads {
                match comparison.compare(
                    (&label, &system),
                    (name, profile, limit_ms.unwrap_or(LIMIT_MS)),
                    load,
                ) {
                    Ok(row) => rows.extend(row),
                    Err(why) => println!("{label} {name}: {why}"),
                }
            }
        }
    }
    let (solved, seconds) = comparison.solving;
    print(rows);
    println!(
        "{:.3} ms a solution",
        1e3 * seconds / f64::from(solved.max(1))
    );
}

fn print(mut rows: Vec<Row>) {
    rows.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
    println!(
        "{:<53} {:>8} {:>6} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "I/Os/s", "+-%", "solved", "error", "ms", "solved", "read", "solved", "write", "solved"
    );
    for row in &rows {
        print!(
            "{:<53} {:>8.0} {:>5.1}{} {:>8.0} {:>+6.1}%{}",
            row.what,
            row.iops[0],
            100.0 * row.half_width,
            if row.unsure() { '?' } else { ' ' },
            row.iops[1],
            100.0 * row.error(),
            if row.up_to_line() { ' ' } else { '^' },
        );
        for [simulated, solved] in [row.response_ms, row.read_ms, row.write_ms] {
            print!(" {simulated:>9.3} {solved:>9.3}");
        }
        println!("  {}", row.note);
    }
    println!(
        "\n| system | closed, up to the line | worst | all | open, up to the line | worst | all |\n|---|---|---|---|---|---|---|"
    );
    let mut systems: Vec<_> = rows.iter().map(|row| row.system.clone()).collect();
    systems.sort();
    systems.dedup();
    for system in systems {
        print!("| `{system}` |");
        for open in [false, true] {
            let of: Vec<&Row> = rows
                .iter()
                .filter(|row| row.system == system && row.open == open)
                .collect();
            let within = |rows: &[&Row]| {
                let within = rows.iter().filter(|row| row.error().abs() <= 0.1).count();
                format!("{within} of {}", rows.len())
            };
            let line: Vec<&Row> = of.iter().copied().filter(|row| row.up_to_line()).collect();
            let worst = line.first().map_or(0.0, |row| row.error());
            print!(
                " {} | {:+.0} % | {} |",
                within(&line),
                100.0 * worst,
                within(&of)
            );
        }
        println!();
    }
    println!("^ above the load line; ? the simulation's own half-width exceeds 3 %");
}
