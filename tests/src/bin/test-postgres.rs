//! Starts and stops the PostgreSQL server that the fleet tests share; `tests/run` calls it, and test processes do.

use std::process::ExitCode;

use fleet_tests::postgres;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match arguments.as_slice() {
        ["start", user] if user.parse::<u32>().is_ok() => {
            let user = user.parse().expect("checked above");
            println!(
                "PostgreSQL for the tests: {}",
                runtime.block_on(postgres::start_shared(user))
            );
        }
        ["stop"] => postgres::stop_shared(),
        ["serve", directory, wanted] => {
            runtime.block_on(postgres::supervisor::serve(
                directory.into(),
                (*wanted).to_owned(),
            ));
        }
        _ => {
            eprintln!(
                "usage: test-postgres start PID | stop   (PID: the process that the server is for)"
            );
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
