//! Serves memory behind a fixed delay until its standard input ends: `fixed SOCKET SIZE_BYTES DELAY_NS [FILE]`.

use loadline_model::sim::Seed;
use loadline_model::units::Time;
use loadline_nbd::{Fixed, Keep, Server, Setup};
use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, size, delay, file @ ..] = &arguments[..] else {
        return Err("use: fixed SOCKET SIZE_BYTES DELAY_NS [FILE]".into());
    };
    let size_bytes = size.parse()?;
    let keep = match file {
        [] => Keep::Memory(1 << 30),
        [path, ..] => Keep::File(path.into()),
    };
    let server = Server::start(Setup {
        address: address.clone(),
        title: "a fixed delay".to_owned(),
        size_bytes,
        device: Box::new(Fixed::new(Time::from_ns(delay.parse()?))),
        keep,
        seed: Seed(0),
        faults: Vec::new(),
    })?;
    println!("{}", server.uri());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let stats = server.stats()?;
    println!(
        "floor {} ns, {} answers, {} late, lateness mean {} ns, max {} ns",
        stats.floor_ns,
        stats.answers,
        stats.late,
        stats.lateness_sum_ns / stats.answers.max(1),
        stats.lateness_max_ns
    );
    Ok(())
}
