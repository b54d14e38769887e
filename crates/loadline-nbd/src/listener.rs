//! Where clients come from: a Unix socket, or TCP if asked for.

use crate::Error;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Clients that may knock at once: as many as a load has jobs at most. The kernel takes fewer where `net.core.somaxconn` is lower.
const BACKLOG: i32 = 4096;
/// Bytes of a Unix socket's path that Linux has room for.
const LONGEST_PATH: usize = 107;

/// An open door.
#[derive(Debug)]
pub enum Listener {
    /// On this machine, for those who may write to the socket.
    Unix {
        /// The door.
        listener: UnixListener,
        /// Its place.
        path: PathBuf,
        /// Device and number of the socket: what stands in its place later may be another's.
        identity: (u64, u64),
    },
    /// On a network.
    Tcp(TcpListener),
}

impl Listener {
    /// Opens a door at the path of a Unix socket, which begins with `/`, or at `HOST:PORT`.
    ///
    /// # Errors
    /// [`Error::Argument`] for an address that can't be or is taken, [`Error::System`] for one that the system refuses.
    pub fn open(address: &str) -> Result<Self, Error> {
        let listener = if address.starts_with('/') {
            Self::unix(Path::new(address))?
        } else {
            Self::tcp(address)?
        };
        let opened = rustix::io::ioctl_fionbio(&listener, true);
        opened.map_err(|error| Error::system(address)(error.into()))?;
        // Std's backlog is 128.
        let _ = rustix::net::listen(&listener, BACKLOG);
        Ok(listener)
    }

    fn unix(path: &Path) -> Result<Self, Error> {
        let refused = |why: &str| Error::Argument {
            key: "address",
            why: format!("{} {why}", path.display()),
        };
        let length = path.as_os_str().len();
        if length > LONGEST_PATH {
            return Err(Error::Argument {
                key: "address",
                why: format!(
                    "a socket's path has at most {LONGEST_PATH} bytes, this one {length}: use a shorter one than {}",
                    path.display()
                ),
            });
        }
        if let Ok(found) = path.symlink_metadata() {
            if !found.file_type().is_socket() {
                return Err(refused(
                    "is there already and no socket: name another place",
                ));
            }
            match UnixStream::connect(path) {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    // Left behind by a server that was killed.
                    std::fs::remove_file(path)
                        .map_err(Error::system(path.display().to_string()))?;
                }
                _ => return Err(refused("is in use by another server: name another place")),
            }
        }
        let system = || Error::system(path.display().to_string());
        let listener = UnixListener::bind(path).map_err(system())?;
        let found = path.symlink_metadata().map_err(system())?;
        Ok(Listener::Unix {
            listener,
            path: path.to_owned(),
            identity: (found.dev(), found.ino()),
        })
    }

    fn tcp(address: &str) -> Result<Self, Error> {
        let mut addresses = address.to_socket_addrs().map_err(|error| Error::Argument {
            key: "address",
            why: if error.kind() == ErrorKind::InvalidInput {
                format!(
                    "{address:?} isn't HOST:PORT: write it like 127.0.0.1:10809, or the absolute path of a Unix socket"
                )
            } else {
                format!(
                    "the host of {address:?} isn't known here: write an address of this machine, such as 127.0.0.1:10809"
                )
            },
        })?;
        let found = addresses.next().ok_or(Error::Argument {
            key: "address",
            why: format!("{address:?} names no host"),
        })?;
        let listener = TcpListener::bind(found).map_err(Error::system(address))?;
        Ok(Listener::Tcp(listener))
    }

    /// What clients call it.
    pub fn uri(&self) -> String {
        match self {
            Listener::Unix { path, .. } => {
                let mut uri = "nbd+unix:///?socket=".to_owned();
                for &byte in path.as_os_str().as_encoded_bytes() {
                    if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
                        uri.push(char::from(byte));
                    } else {
                        let _ = write!(uri, "%{byte:02X}");
                    }
                }
                uri
            }
            Listener::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("nbd://{address}"),
                Err(_) => "nbd://".to_owned(),
            },
        }
    }

    /// The next client, if one knocks, and whether it is on this machine.
    pub fn accept(&self) -> io::Result<Option<(OwnedFd, bool)>> {
        let accepted = match self {
            Listener::Unix { listener, .. } => listener
                .accept()
                .map(|(stream, _)| (OwnedFd::from(stream), true)),
            Listener::Tcp(listener) => listener.accept().map(|(stream, from)| {
                // Answers are due when they are sent, not when there are enough of them.
                let _ = stream.set_nodelay(true);
                (OwnedFd::from(stream), from.ip().is_loopback())
            }),
        };
        match accepted {
            Ok(client) => Ok(Some(client)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            // That one has gone already; there may be others.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Both ends of a connection of the same kind: the client's and the server's.
    pub fn pair(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        match self {
            Listener::Unix { .. } => {
                let (ours, theirs) = UnixStream::pair()?;
                Ok((ours.into(), theirs.into()))
            }
            Listener::Tcp(_) => {
                let door = TcpListener::bind(("127.0.0.1", 0))?;
                let ours = TcpStream::connect(door.local_addr()?)?;
                let (theirs, from) = door.accept()?;
                if from != ours.local_addr()? {
                    return Err(io::Error::other("somebody else came first"));
                }
                ours.set_nodelay(true)?;
                theirs.set_nodelay(true)?;
                Ok((ours.into(), theirs.into()))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix { listener, .. } => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix { path, identity, .. } = self
            && let Ok(found) = path.symlink_metadata()
            && (found.dev(), found.ino()) == *identity
        {
            let _ = std::fs::remove_file(path);
        }
    }
}
