//! The processes of one act: how each is started, and started again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use super::super::input::InputArgs;
use super::super::provider::Mode;
use super::child::Child;
use super::control::Control;

/// How many workers share the file.
pub const WORKERS: usize = 2;

/// A process may take this long to be ready: it opens, and perhaps makes, a file.
const READY: Duration = Duration::from_secs(20);

/// What all processes of an act are told.
pub struct Script {
    pub dir: PathBuf,
    pub mode: Mode,
    pub input: InputArgs,
    /// Between two posts of one stream of webhooks: traffic lasts while blows fall.
    pub pace_ms: u64,
    #[cfg(feature = "sabotage")]
    pub sabotage: Option<super::Sabotage>,
}

impl Script {
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn start(&self, name: &str, args: Vec<OsString>) -> anyhow::Result<Child> {
        Child::start(name, &args, &self.file(&format!("{name}.log")))
    }

    /// For the processes that work for Lanebox: what they are made to do wrong, if anything.
    fn wrong(&self) -> Vec<OsString> {
        #[cfg(feature = "sabotage")]
        if let Some(sabotage) = self.sabotage {
            return vec!["--sabotage".into(), sabotage.name().into()];
        }
        Vec::new()
    }
}

/// All processes of an act. Dropping it kills them.
pub struct Cast {
    pub script: Script,
    pub control: Control,
    pub feeder: Child,
    pub workers: Vec<Child>,
    pub receiver: Child,
    receiver_url: String,
    provider_url: String,
    // Last: workers may still call it while they end.
    provider: Child,
}

impl Cast {
    /// Receiver first, since it makes the file and statuses go to it; the feeder last.
    pub fn start(script: Script) -> anyhow::Result<Self> {
        let mut receiver = receiver(&script, "127.0.0.1:0")?;
        let receiver_url = url_of(&mut receiver)?;
        let mut provider = provider(&script, &receiver_url)?;
        let provider_url = url_of(&mut provider)?;
        let workers = (0..WORKERS).map(|n| worker(&script, n, &provider_url));
        let workers = workers.collect::<anyhow::Result<_>>()?;
        let feeder = feeder(&script, &receiver_url)?;
        let control = Control::of(&provider_url);
        Ok(Self {
            script,
            control,
            feeder,
            workers,
            receiver,
            receiver_url,
            provider_url,
            provider,
        })
    }

    /// The one who has been killed comes back under its name.
    pub fn restart_worker(&mut self, n: usize) -> anyhow::Result<()> {
        self.workers[n] = worker(&self.script, n, &self.provider_url)?;
        Ok(())
    }

    /// Back at the same address: the feeder and the provider go on posting to it.
    pub fn restart_receiver(&mut self) -> anyhow::Result<()> {
        let address = self.receiver_url.trim_start_matches("http://");
        self.receiver = receiver(&self.script, address)?;
        url_of(&mut self.receiver)?;
        Ok(())
    }

    /// Nobody may have ended by itself, but the feeder.
    pub fn is_well(&mut self) -> anyhow::Result<()> {
        for child in self.workers.iter_mut().chain([&mut self.receiver, &mut self.provider]) {
            if let Some(how) = child.ended()? {
                let log = self.script.dir.join(format!("{}.log", child.name()));
                anyhow::bail!("{} has ended ({how}); see {}", child.name(), log.display());
            }
        }
        Ok(())
    }

    /// The workers end in order, the rest is killed. The names of those that did not end in time.
    pub fn stop(self) -> anyhow::Result<Vec<String>> {
        let mut late = Vec::new();
        for worker in self.workers {
            let name = worker.name().to_owned();
            if !worker.stop()? {
                late.push(name);
            }
        }
        Ok(late)
    }
}

fn args<const N: usize>(args: [&str; N]) -> Vec<OsString> {
    args.into_iter().map(OsString::from).collect()
}

fn with_file(mut args: Vec<OsString>, option: &str, path: &Path) -> Vec<OsString> {
    args.extend([OsString::from(option), path.into()]);
    args
}

fn receiver(script: &Script, listen: &str) -> anyhow::Result<Child> {
    let args = args(["demo", "receiver", "--listen", listen]);
    let mut args = with_file(args, "--db", &script.file("demo.db"));
    args.extend(script.wrong());
    script.start("receiver", args)
}

fn provider(script: &Script, receiver_url: &str) -> anyhow::Result<Child> {
    let (callback, seed) = (format!("{receiver_url}/webhook"), script.input.seed.to_string());
    let mode = super::mode_name(script.mode);
    let args =
        args(["demo", "provider", "--mode", &mode, "--seed", &seed, "--callback", &callback]);
    script.start("provider", with_file(args, "--log", &script.file("provider.jsonl")))
}

fn worker(script: &Script, n: usize, provider_url: &str) -> anyhow::Result<Child> {
    let (name, mode) = (format!("worker-{}", n + 1), super::mode_name(script.mode));
    let args =
        args(["demo", "worker", "--name", &name, "--mode", &mode, "--provider", provider_url]);
    let mut args = with_file(args, "--db", &script.file("demo.db"));
    args.extend(script.wrong());
    let mut worker = script.start(&name, args)?;
    let ready = worker.must_say("that it is ready", READY)?;
    anyhow::ensure!(ready["ready"] == true, "{name} said {ready} instead of {{\"ready\":true}}");
    Ok(worker)
}

fn feeder(script: &Script, receiver_url: &str) -> anyhow::Result<Child> {
    let (url, pace) = (format!("{receiver_url}/webhook"), script.pace_ms.to_string());
    let args = args(["demo", "feed", "--url", &url, "--pace-ms", &pace]);
    let mut args = with_file(args, "--log", &script.file("feeder.jsonl"));
    args.extend(script.input.to_args());
    script.start("feeder", args)
}

fn url_of(child: &mut Child) -> anyhow::Result<String> {
    let line = child.must_say("where it listens", READY)?;
    let url = line["url"].as_str().map(str::to_owned);
    url.with_context(|| format!("{} said {line} instead of its address", child.name()))
}
