//! An emulator that serves on threads of its own, and whoever started it.

use crate::Error;
use crate::device::Device;
use crate::floor::Floor;
use crate::handshake::Export;
use crate::listener::Listener;
use crate::serving::{Order, Parts, Serving};
use crate::stats::Stats;
use crate::store::Keep;
use crate::sync::wake;
use crate::wire::SECTOR_BYTES;
use loadline_model::fault::Faults;
use loadline_model::sim::Seed;
use loadline_model::units::Time;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

/// What is to be served, and where.
pub struct Setup {
    /// The absolute path of a Unix socket, or `HOST:PORT`.
    pub address: String,
    /// A title for people.
    pub title: String,
    /// Bytes of the device, a multiple of 512.
    pub size_bytes: u64,
    /// When.
    pub device: Box<dyn Device>,
    /// What.
    pub keep: Keep,
    /// Of what is drawn by faults.
    pub seed: Seed,
    /// Sentences that say what goes wrong, and when.
    pub faults: Vec<String>,
}

/// A server that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    uri: String,
    orders: Sender<Order>,
    waker: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the socket, measures the way, and serves.
    ///
    /// # Errors
    /// [`Error::Argument`] for a size or an address that can't be, [`Error::Data`] for a data file that won't do,
    /// [`Error::System`] for what the system refuses.
    pub fn start(setup: Setup) -> Result<Self, Error> {
        let Setup {
            address,
            title,
            size_bytes,
            device,
            keep,
            seed,
            faults: sentences,
        } = setup;
        if size_bytes == 0 || size_bytes % u64::from(SECTOR_BYTES) != 0 || size_bytes >> 62 != 0 {
            return Err(Error::Argument {
                key: "size",
                why: format!(
                    "{size_bytes} bytes are no device: give a multiple of 512 below 4 EiB"
                ),
            });
        }
        let mut faults = Faults::new(seed, device.drives());
        for sentence in &sentences {
            let understood = faults.add(sentence, Time::ZERO);
            understood.map_err(|error| Error::Argument {
                key: "fault",
                why: match error {
                    loadline_model::Error::Description { why, .. } => why,
                    error => error.to_string(),
                },
            })?;
        }
        let listener = Listener::open(&address)?;
        let uri = listener.uri();
        let (ours, theirs) = listener.pair().map_err(Error::system("a socket"))?;
        let waker = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|error| Error::system("an eventfd")(error.into()))?;
        let waker = Arc::new(waker);
        let (orders, received) = channel();
        // Last, so that a start that fails leaves no file behind.
        let store = keep.open(size_bytes)?;
        let parts = Parts {
            listener,
            first: theirs,
            export: Export { size_bytes, title },
            device,
            store,
            faults,
            orders: received,
            to_self: orders.clone(),
            waker: Arc::clone(&waker),
        };
        let serving = Serving::new(parts).map_err(Error::system("epoll"))?;
        let thread = Builder::new().name("loadline-nbd".to_owned());
        let thread = thread
            .spawn(move || serving.run())
            .map_err(Error::system("a thread"))?;
        let server = Server {
            uri,
            orders,
            waker,
            thread: Some(thread),
        };
        let stay = |core, awake| {
            // A server that has gone is noticed by what is asked of it.
            let _ = server.order(Order::Stay(core, awake));
        };
        let floor = Floor::measure(ours, stay).map_err(Error::system("the server's own client"))?;
        server.order(Order::Begin(floor))?;
        Ok(server)
    }

    /// What clients call it: `nbd+unix:///?socket=PATH` or `nbd://HOST:PORT`.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The numbers so far.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn stats(&self) -> Result<Stats, Error> {
        let (to, answer) = channel();
        self.order(Order::Stats(to))?;
        answer.recv().map_err(|_| Error::Stopped)
    }

    /// Has something go wrong; gives the sentence as it was understood.
    ///
    /// # Errors
    /// [`Error::Refused`] if it isn't understood or can't happen, [`Error::Stopped`].
    pub fn fault(&self, sentence: &str) -> Result<String, Error> {
        let (to, answer) = channel();
        self.order(Order::Fault(sentence.to_owned(), to))?;
        let answer = answer.recv().map_err(|_| Error::Stopped)?;
        answer.map_err(Error::Refused)
    }

    /// What happened since the last call, in sentences.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn events(&self) -> Result<Vec<String>, Error> {
        let (to, answer) = channel();
        self.order(Order::Events(to))?;
        answer.recv().map_err(|_| Error::Stopped)
    }

    /// Ends, after what was acknowledged is in the data file. A second time it does nothing.
    pub fn stop(&mut self) {
        let _ = self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic of that thread was printed when it happened.
            let _ = thread.join();
        }
    }

    fn order(&self, order: Order) -> Result<(), Error> {
        self.orders.send(order).map_err(|_| Error::Stopped)?;
        wake(&self.waker);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
