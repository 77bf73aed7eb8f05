//! `tightwire token` and `tightwire certificate`: keys, tokens and certificates for a game's
//! operators.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Subcommand;
use tightwire::quic::Certificate;
use tightwire::token::{Claims, SealedToken, TokenGateConfig, TokenKey};
use zeroize::Zeroizing;

/// Connect tokens: each lets one client connect to one server until it expires.
#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Makes a key, which the game's backend shares with its servers.
    NewKey {
        /// File for the key, readable by its owner only; without it, the key is printed.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Mints a token, as a backend does, and prints it.
    Mint {
        /// File with the key.
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
        /// Number by which the backend knows the client.
        #[arg(long, value_name = "NUMBER")]
        client: u64,
        /// Name of the server.
        #[arg(long, value_name = "NAME")]
        server: String,
        /// Lifetime of the token.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        expires_in: u64,
        /// Further data for the server.
        #[arg(long, value_name = "TEXT", default_value = "")]
        user_data: String,
    },
    /// Shows the claims of a token.
    Show {
        /// File with the key.
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
        /// Token to show.
        token: String,
    },
}

/// Certificates of servers.
#[derive(Subcommand)]
pub(crate) enum CertificateCommand {
    /// Makes a self-signed certificate, and prints its fingerprint.
    New {
        /// DNS name or IP address of the server; may be repeated.
        #[arg(long, value_name = "NAME", required = true)]
        name: Vec<String>,
        /// Folder for cert.pem and key.pem.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

impl TokenCommand {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        match self {
            Self::NewKey { out } => new_key(out.as_deref()),
            Self::Mint { key_file, client, server, expires_in, user_data } => {
                let lifetime = Duration::from_secs(expires_in);
                let claims =
                    Claims::new(client, &server, now()?, lifetime).with_user_data(user_data);
                let token = read_key(&key_file)?.mint(&claims)?;
                let most = TokenGateConfig::default().max_lifetime;
                if lifetime > most {
                    let most = most.as_secs();
                    eprintln!(
                        "tightwire: servers refuse a token that lasts longer than {most} seconds, \
                         unless they are configured otherwise"
                    );
                }
                Ok(format!("{token}\n"))
            }
            Self::Show { key_file, token } => show(&read_key(&key_file)?, &token),
        }
    }
}

impl CertificateCommand {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let Self::New { name, out } = self;
        let certificate = Certificate::self_signed(name)?;
        fs::create_dir_all(&out).map_err(|error| at(&out, &error))?;
        let (own, key) = (out.join("cert.pem"), out.join("key.pem"));
        // Both files or none: a key beside another key's certificate would be a trap.
        if own.exists() {
            return Err(at(&own, &io::ErrorKind::AlreadyExists.into()).into());
        }
        write_new(&key, &certificate.secret_key_pem(), true)?;
        write_new(&own, &certificate.chain_pem(), false)?;
        Ok(format!("{}\n", certificate.fingerprint()))
    }
}

fn new_key(out: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let text = TokenKey::generate()?.secret_text() + "\n";
    let Some(file) = out else { return Ok(text) };
    write_new(file, &text, true)?;
    Ok(format!("written to {}\n", file.display()))
}

fn read_key(file: &Path) -> Result<TokenKey, Box<dyn Error>> {
    let text = Zeroizing::new(fs::read_to_string(file).map_err(|error| at(file, &error))?);
    let key = text.trim().parse();
    key.map_err(|refused| format!("{} has no token key: {refused}", file.display()).into())
}

fn show(key: &TokenKey, token: &str) -> Result<String, Box<dyn Error>> {
    let token: SealedToken = token.trim().parse()?;
    let claims = key.open(token.as_bytes())?;
    let Claims { client, minted, expires, server, user_data } = &claims;
    let now = now()?.as_secs();
    let when = |time: u64| match (now.checked_sub(time), time.checked_sub(now)) {
        (Some(0), _) => "now".into(),
        (Some(ago), _) => format!("{ago} seconds ago"),
        (_, Some(ahead)) => format!("in {ahead} seconds"),
        _ => String::new(),
    };
    let mut text = String::new();
    writeln!(text, "client     {client}")?;
    writeln!(text, "server     {}", server.escape_debug())?;
    writeln!(text, "minted     {minted}, {}", when(*minted))?;
    writeln!(text, "expires    {expires}, {}", when(*expires))?;
    writeln!(text, "user data  {} bytes: {}", user_data.len(), user_data.escape_ascii())?;
    Ok(text)
}

/// Returns the time since the Unix epoch.
fn now() -> Result<Duration, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_err(|_| "the clock of this machine is before 1970".into())
}

/// Writes a file that must not exist: an old key may still be needed.
fn write_new(file: &Path, text: &str, is_secret: bool) -> Result<(), Box<dyn Error>> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_secret {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Set at creation, so that the file is never open to others.
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = is_secret;
    let written = options.open(file).and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(|error| at(file, &error).into())
}

fn at(file: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} exists already: remove it first, or choose another", file.display())
        }
        _ => format!("{}: {error}", file.display()),
    }
}
