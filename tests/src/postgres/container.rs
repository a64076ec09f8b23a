//! PostgreSQL in a container, through testcontainers.

use std::path::Path;
use std::time::{Duration, Instant};

use testcontainers::bollard::models::PortBinding;
use testcontainers::core::{IntoContainerPort as _, Mount};
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, GenericImage, ImageExt as _};
use tokio::net::TcpStream;

use super::Endpoint;
use crate::docker::{Engine, OWNER_LABEL};

/// Used where `PGRELAY_TEST_IMAGE` does not name another one with the same conventions.
const OFFICIAL_IMAGE: &str = "postgres:17";
const REGISTRY: &str = "registry-1.docker.io:443";
const REGISTRY_LIMIT: Duration = Duration::from_secs(3);
const START_LIMIT: Duration = Duration::from_mins(5);
const ANSWER_LIMIT: Duration = Duration::from_mins(1);
const PORT: u16 = 5432;

/// A running container with a server in it.
pub(super) struct Container {
    handle: ContainerAsync<GenericImage>,
    pub(super) endpoint: Endpoint,
    pub(super) source: String,
}

impl Container {
    /// Starts one, or says why there is none to be had.
    ///
    /// `bridge` is the socket that `DOCKER_HOST` names in this process: the library takes its engine from there only,
    /// and the version of its requests has to be lowered for old engines.
    pub(super) async fn start(
        engine: &Engine,
        bridge: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self, String> {
        let image =
            std::env::var("PGRELAY_TEST_IMAGE").unwrap_or_else(|_| OFFICIAL_IMAGE.to_owned());
        if !engine.has_image(&image).await && !registry_answers().await {
            return Err(format!(
                "the image {image} is not here, and no registry answers"
            ));
        }
        engine
            .bridge(bridge)
            .map_err(|error| format!("listening on {}: {error}", bridge.display()))?;
        let (name, tag) = image.rsplit_once(':').unwrap_or((&image, "latest"));
        let arguments = settings
            .iter()
            .flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]);
        let container = GenericImage::new(name, tag)
            .with_exposed_port(PORT.tcp())
            .with_env_var("POSTGRES_HOST_AUTH_METHOD", "trust")
            .with_cmd(["postgres".to_owned()].into_iter().chain(arguments))
            .with_label(OWNER_LABEL, std::process::id().to_string())
            // The data is thrown away, so it need never reach a disk.
            .with_mount(Mount::tmpfs_mount("/var/lib/postgresql/data"))
            .with_shm_size(512 * 1024 * 1024)
            .with_startup_timeout(START_LIMIT)
            .with_host_config_modifier(|host| {
                // Whoever reaches the port is superuser: this machine only.
                let binding = PortBinding {
                    host_ip: Some("127.0.0.1".to_owned()),
                    ..PortBinding::default()
                };
                host.publish_all_ports = Some(false);
                host.port_bindings = Some([(format!("{PORT}/tcp"), Some(vec![binding]))].into());
            });
        let container = container
            .start()
            .await
            .map_err(|error| format!("starting {image}: {error}"))?;
        let port = container
            .get_host_port_ipv4(PORT)
            .await
            .map_err(|error| format!("no port of {image}: {error}"))?;
        let endpoint = Endpoint::local(port);
        // The official image starts its server twice, the first time without TCP: only an answer to a query counts.
        wait_until_answering(&endpoint).await?;
        let source = format!(
            "a container of {image} through testcontainers, engine at {}",
            engine.socket().display()
        );
        Ok(Self {
            handle: container,
            endpoint,
            source,
        })
    }

    /// Stops and removes it.
    pub(super) async fn remove(self) {
        if let Err(error) = self.handle.rm().await {
            eprintln!("removing the container: {error}");
        }
    }
}

async fn wait_until_answering(endpoint: &Endpoint) -> Result<(), String> {
    let started = Instant::now();
    loop {
        match endpoint.try_connect("postgres").await {
            Ok(_client) => return Ok(()),
            Err(why) if started.elapsed() > ANSWER_LIMIT => {
                return Err(format!("no answer from the container: {why}"));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn registry_answers() -> bool {
    matches!(
        tokio::time::timeout(REGISTRY_LIMIT, TcpStream::connect(REGISTRY)).await,
        Ok(Ok(_))
    )
}
