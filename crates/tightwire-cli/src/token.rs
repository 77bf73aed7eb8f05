//! `tightwire token` and `tightwire certificate`: what a game's operators need before anybody connects.

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

/// Connect tokens: which client may connect to which server until when.
#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Makes a key, which the game's backend shares with its servers.
    NewKey {
        /// The file that it is written to, for its owner only; it is printed otherwise.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Makes a token, as a backend does, and prints it.
    Mint {
        /// The file with the key.
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
        /// The number by which the backend knows the client.
        #[arg(long, value_name = "NUMBER")]
        client: u64,
        /// The name that the server has.
        #[arg(long, value_name = "NAME")]
        server: String,
        /// How long a client can connect with it.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        expires_in: u64,
        /// What else the server is to know.
        #[arg(long, value_name = "TEXT", default_value = "")]
        user_data: String,
    },
    /// Shows what a token says.
    Show {
        /// The file with the key.
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
        /// The token.
        token: String,
    },
}

/// Certificates of servers.
#[derive(Subcommand)]
pub(crate) enum CertificateCommand {
    /// Makes a certificate that is signed by itself, and prints its fingerprint.
    New {
        /// A DNS name or an IP address of the server; there may be several.
        #[arg(long, value_name = "NAME", required = true)]
        name: Vec<String>,
        /// The folder that cert.pem and key.pem are written to.
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
        // Both or none: a key beside the certificate of another would be a trap.
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

/// Since the Unix epoch.
fn now() -> Result<Duration, Box<dyn Error>> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_err(|_| "the clock of this machine is before 1970".into())
}

/// Writes a file that was not there: an old key may still be needed.
fn write_new(file: &Path, text: &str, is_secret: bool) -> Result<(), Box<dyn Error>> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_secret {
        use std::os::unix::fs::OpenOptionsExt as _;
        // From the beginning, so that nobody can open it in between.
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
