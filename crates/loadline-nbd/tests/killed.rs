//! What a kill loses: nothing that was flushed, and nothing of others.

mod client;

use client::*;
use loadline_model::sim::Seed;
use loadline_model::units::Time;
use loadline_nbd::{Fixed, Keep, Server, Setup};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SIZE: u64 = 4 << 20;
const BLOCK: u64 = 4096;

/// Runs a test of this file as a program of its own, with words for it.
fn run(test: &str, words: &[&str]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--quiet"])
        .env("WORDS", words.join(" "))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn words() -> Option<Vec<String>> {
    let words = std::env::var("WORDS").ok()?;
    Some(words.split(' ').map(str::to_owned).collect())
}

/// Waits for a line that the child says when it is ready.
fn wait_for(child: &mut Child, said: &str) {
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    let found = output.lines().any(|line| line.unwrap().contains(said));
    assert!(found, "the child ended before it was ready");
}

#[test]
#[ignore = "a program that a_killed_server_has_lost_no_flushed_write starts"]
fn serve_a_file() {
    let Some(words) = words() else { return };
    let _server = Server::start(Setup {
        address: words[0].clone(),
        title: String::new(),
        size_bytes: SIZE,
        device: Box::new(Fixed::new(Time::from_ns(20_000))),
        keep: Keep::File(words[1].clone().into()),
        seed: Seed(0),
        faults: Vec::new(),
    });
    println!("\nready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_killed_server_has_lost_no_flushed_write() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nbd.sock");
    let file = folder.path().join("data");
    let mut flushed = vec![0u64; (SIZE / BLOCK) as usize];
    let mut stamp = 0;
    for round in 0..20u64 {
        let paths = [socket.to_str().unwrap(), file.to_str().unwrap()];
        let mut child = run("serve_a_file", &paths);
        wait_for(&mut child, "ready");
        let mut client = Client::simple(&socket);
        // Where it's killed differs from round to round, and lies in the midst of writes that nobody waited for.
        let mut dice = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        let mut written = flushed.clone();
        for _ in 0..roll(60) {
            let block = roll(SIZE / BLOCK);
            stamp += 1;
            let data = [stamp; BLOCK as usize / 8].map(u64::to_be_bytes).concat();
            let flags = if roll(4) == 0 { FUA } else { 0 };
            let done = client.ask(WRITE, flags, block * BLOCK, BLOCK as u32, &data);
            assert_eq!(done, Ok(vec![]));
            written[block as usize] = stamp;
            if flags == FUA {
                flushed[block as usize] = stamp;
            }
            if roll(5) == 0 {
                assert_eq!(client.flush(), Ok(()));
                flushed.clone_from(&written);
            }
        }
        if roll(2) == 0 {
            client.say(WRITE, 0, roll(SIZE / BLOCK) * BLOCK, BLOCK as u32);
            stamp += 1;
            let data = [stamp; BLOCK as usize / 8].map(u64::to_be_bytes).concat();
            // The stamp whole, so that what is found can be compared.
            let cut = 8 + roll(BLOCK - 8) as usize;
            client.stream.write_all(&data[..cut]).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let kept = std::fs::read(&file).unwrap();
        for (block, &expected) in flushed.iter().enumerate() {
            let begin = block * BLOCK as usize;
            let found = u64::from_be_bytes(kept[begin..begin + 8].try_into().unwrap());
            // What was written over it later may be there instead.
            assert!(
                found >= expected,
                "round {round}, block {block}: {found} < {expected}"
            );
        }
        // What stands in the file now is what the next round begins with.
        for (block, flushed) in flushed.iter_mut().enumerate() {
            let begin = block * BLOCK as usize;
            *flushed = u64::from_be_bytes(kept[begin..begin + 8].try_into().unwrap());
        }
    }
}

#[test]
#[ignore = "a program that a_killed_client_loses_no_write_of_another starts"]
fn write_without_end() {
    let Some(words) = words() else { return };
    let mut client = Client::simple(Path::new(&words[0]));
    println!("\nready");
    loop {
        let data = vec![0xee; 64 << 10];
        client.say(WRITE, 0, SIZE / 2, 64 << 10);
        client.stream.write_all(&data).unwrap();
    }
}

#[test]
fn a_killed_client_loses_no_write_of_another() {
    let served = serve(SIZE, |_| {});
    let mut other = Client::structured(&served.socket);
    for round in 0..10u8 {
        let mut child = run("write_without_end", &[served.socket.to_str().unwrap()]);
        wait_for(&mut child, "ready");
        for block in 0..u64::from(round) * 7 {
            assert_eq!(other.write(block * 512, &[round; 512]), Ok(()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for block in 0..u64::from(round) * 7 {
            assert_eq!(other.read(block * 512, 512), Ok(vec![round; 512]));
        }
    }
}

#[test]
fn a_file_of_another_size_is_refused_and_an_empty_one_taken_and_each_is_served_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let serve_at = |size| start(size, |setup| setup.keep = Keep::File(file.clone()));
    let refused = |size| serve_at(size).err().unwrap().to_string();
    let length = || std::fs::metadata(&file).unwrap().len();
    std::fs::write(&file, vec![3; 8192]).unwrap();
    let short = refused(1 << 20);
    assert!(
        short.contains("has 8192 bytes, the device 1048576"),
        "{short}"
    );
    assert!(short.contains("truncate -s 1048576"), "{short}");
    let long = refused(512);
    assert!(long.contains("has 8192 bytes, the device 512"), "{long}");
    assert!(!long.contains("truncate"), "{long}");
    assert_eq!(length(), 8192);
    let served = serve_at(8192).unwrap();
    let read = Client::simple(&served.socket).read(8191, 1);
    assert_eq!(read, Ok(vec![3]));
    assert!(refused(8192).contains("already"));
    drop(served);
    std::fs::write(&file, []).unwrap();
    drop(serve_at(1 << 20).unwrap());
    assert_eq!(length(), 1 << 20);
}

#[test]
fn a_start_that_fails_leaves_no_file_behind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let of_faults = start(SIZE, |setup| {
        setup.keep = Keep::File(file.clone());
        setup.faults = vec!["nonsense".to_owned()];
    });
    assert!(of_faults.is_err());
    let of_address = start(SIZE, |setup| {
        setup.keep = Keep::File(file.clone());
        setup.address = "/no/such/folder/socket".to_owned();
    });
    assert!(of_address.is_err());
    assert!(!file.exists());
    // More than ext4 and tmpfs have room for in a file; where it's made it's as it should be.
    let of_size = start(1 << 61, |setup| setup.keep = Keep::File(file.clone()));
    assert_eq!(file.exists(), of_size.is_ok());
}
