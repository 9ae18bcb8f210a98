//! What is written, and which place it means.

use crate::readers::stores::location::{Address, parse, shown};
use crate::readers::stores::{StoreError, StoreKind, StoreSecret, StoreSettings, Stores};

#[test]
fn a_path_or_a_file_url_is_a_place_on_this_machine() {
    for location in
        ["/data/orders", "/data/orders/", "file:/data/orders", "file:///data/orders", "file://localhost/data/orders"]
    {
        assert_eq!(shown(location).unwrap(), "file:///data/orders", "{location}");
        assert_eq!(parse(location).unwrap().address, Address::Local);
    }
    let here = std::env::current_dir().unwrap();
    assert_eq!(shown("some/place").unwrap(), format!("file://{}/some/place", here.display()));
    assert_eq!(shown("a:b").unwrap(), format!("file://{}/a:b", here.display()));
}

#[test]
fn urls_are_understood_as_spark_users_write_them() {
    let s3 = || Address::S3 { bucket: "lake".to_owned() };
    let azure = |account: Option<&str>, endpoint: Option<&str>| Address::Azure {
        container: "lake".to_owned(),
        account: account.map(str::to_owned),
        endpoint: endpoint.map(str::to_owned),
    };
    let hdfs = |authority: Option<&str>| Address::Hdfs { authority: authority.map(str::to_owned), is_view: false };
    let check = |location: &str, address: Address, root: &str| {
        let place = parse(location).unwrap();
        assert_eq!((place.address, place.root.as_ref()), (address, root), "{location}");
        assert_eq!(place.directory, None);
        assert_eq!(place.display, location.trim_end_matches('/'));
    };
    for scheme in ["s3", "s3a", "s3n", "S3A"] {
        check(&format!("{scheme}://lake/cp/orders/"), s3(), "cp/orders");
    }
    check("s3a://lake", s3(), "");
    check("s3a://lake//cp//a b%20c=d", s3(), "cp/a b%20c=d");
    check("s3a://my_bucket.with.dots/cp", Address::S3 { bucket: "my_bucket.with.dots".to_owned() }, "cp");
    check("gs://lake/cp", Address::Gcs { bucket: "lake".to_owned() }, "cp");
    for scheme in ["abfs", "abfss", "wasb", "wasbs", "az"] {
        check(&format!("{scheme}://lake/cp"), azure(None, None), "cp");
        check(&format!("{scheme}://lake@acct.dfs.core.windows.net/cp"), azure(Some("acct"), None), "cp");
        check(&format!("{scheme}://lake@acct.blob.core.windows.net/cp"), azure(Some("acct"), None), "cp");
    }
    for (host, endpoint) in [
        ("acct.dfs.core.chinacloudapi.cn", "https://acct.blob.core.chinacloudapi.cn"),
        ("acct.dfs.core.usgovcloudapi.net", "https://acct.blob.core.usgovcloudapi.net"),
        ("acct.z01.dfs.storage.azure.net", "https://acct.z01.blob.storage.azure.net"),
    ] {
        check(&format!("abfss://lake@{host}/cp"), azure(Some("acct"), Some(endpoint)), "cp");
    }
    check("hdfs://namenode:8020/cp", hdfs(Some("namenode:8020")), "cp");
    check("hdfs://nameservice1/cp", hdfs(Some("nameservice1")), "cp");
    check("hdfs:///cp", hdfs(None), "cp");
    check("hdfs:/cp", hdfs(None), "cp");
    check("viewfs://all/cp", Address::Hdfs { authority: Some("all".to_owned()), is_view: true }, "cp");
}

#[test]
fn what_is_shown_can_be_given_again() {
    for (location, expected) in [
        ("/", "file://"),
        ("file:///", "file://"),
        ("file://localhost", "file://"),
        ("hdfs:///", "hdfs://"),
        ("hdfs:/", "hdfs://"),
        ("viewfs:////", "viewfs://"),
        ("hdfs:///cp/", "hdfs:///cp"),
        ("s3a://lake//", "s3a://lake"),
        ("/a b%20/?#*:@", "file:///a b%20/?#*:@"),
        ("/data/a:b@c", "file:///data/a:b@c"),
    ] {
        assert_eq!(shown(location).unwrap(), expected, "{location}");
        assert_eq!(shown(expected).unwrap(), expected);
        let (one, other) = (parse(location).unwrap(), parse(expected).unwrap());
        assert_eq!((one.address, one.root), (other.address, other.root), "{location}");
    }
}

#[test]
fn what_can_not_be_read_is_refused_with_a_word_on_what_to_write() {
    let databricks = "can only be read through Databricks itself; give the cloud URL under it, such as \
                      s3://bucket/path or abfss://container@account.dfs.core.windows.net/path";
    for (location, error) in [
        ("", "the location is empty".to_owned()),
        ("ftp://host/orders", "locations of the kind \"ftp:\" are not supported".to_owned()),
        ("file://server/orders", "\"file://server/orders\" names the host \"server\"; write file:///path".to_owned()),
        ("/nowhere/at/../all", "\"/nowhere/at/../all\" is no path here".to_owned()),
        ("dbfs:/checkpoints/orders", format!("\"dbfs:/checkpoints/orders\" {databricks}")),
        ("dbfs:/Volumes/main/bronze/cp", format!("\"dbfs:/Volumes/main/bronze/cp\" {databricks}")),
        ("/Volumes/main/bronze/cp", format!("\"/Volumes/main/bronze/cp\" {databricks}")),
        ("/dbfs/mnt/cp", format!("\"/dbfs/mnt/cp\" {databricks}")),
        (
            "adl://lake.azuredatalakestore.net/cp",
            "\"adl://lake.azuredatalakestore.net/cp\" lies in Azure Data Lake Storage Gen1, which no longer exists; \
             give the abfss:// URL"
                .to_owned(),
        ),
        (
            "https://lake.s3.amazonaws.com/cp",
            "\"https://lake.s3.amazonaws.com/cp\" is a web address; give the URL that the job uses, such as \
             s3a://bucket/path, abfss://container@account.dfs.core.windows.net/path or gs://bucket/path"
                .to_owned(),
        ),
        ("s3a:///cp", "\"s3a:///cp\" lacks a bucket".to_owned()),
        ("gs:/cp", "\"gs:/cp\" lacks a bucket".to_owned()),
        (
            "abfss://@acct.dfs.core.windows.net/cp",
            "\"abfss://@acct.dfs.core.windows.net/cp\" lacks a container".to_owned(),
        ),
        ("s3a://lake/cp/../x", "\"s3a://lake/cp/../x\" is no path that can be read".to_owned()),
    ] {
        assert_eq!(shown(location).unwrap_err().to_string(), error);
    }
}

#[test]
fn a_location_with_a_secret_is_refused_and_not_repeated() {
    for location in [
        "s3n://AKIA:hunter2@lake/cp",
        "hdfs://user:hunter2@namenode/cp",
        "az://lake/cp?sv=2024&sig=hunter2",
        "https://acct.blob.core.windows.net/lake/cp?sv=2024&SIG=hunter2",
        "s3a://lake/cp?X-Amz-Signature=hunter2",
        // where no password helps, too
        "file://user:hunter2@server/cp",
        "dbfs://user:hunter2@workspace/cp",
        "adl://user:hunter2@lake/cp",
        "ftp://user:hunter2@host/cp",
        "3s://user:hunter2@lake/cp",
    ] {
        let error = format!("{0} {0:?}", shown(location).unwrap_err());
        assert!(!error.contains("hunter2") && error.contains("must not hold a password"), "{error}");
    }
}

#[test]
fn settings_go_with_their_own_kind_of_store() {
    let settings = [("lake".to_owned(), StoreSettings::new(StoreKind::S3))].into();
    let mut stores = Stores::new(settings, std::time::Duration::from_secs(9));
    stores.open("s3a://bucket/cp", Some("lake")).unwrap();
    let error = |opened: Result<_, StoreError>| opened.map(drop).unwrap_err().to_string();
    assert_eq!(error(stores.open("s3a://bucket/cp", Some("pond"))), "no store is named \"pond\"");
    assert_eq!(
        error(stores.open("gs://bucket/cp", Some("lake"))),
        "\"gs://bucket/cp\" does not lie in a store of kind s3"
    );
    assert_eq!(error(stores.open("/cp", Some("lake"))), "\"/cp\" does not lie in a store of kind s3");
}

#[test]
fn settings_print_no_secret() {
    let mut settings = StoreSettings::new(StoreKind::Azure);
    for secret in [
        &mut settings.secret_access_key,
        &mut settings.session_token,
        &mut settings.account_key,
        &mut settings.connection_string,
        &mut settings.sas_token,
        &mut settings.client_secret,
    ] {
        *secret = Some(StoreSecret::given("hunter2"));
    }
    settings.proxy = Some("hunter2".to_owned());
    let secrets = settings.secrets().unwrap();
    assert!(!format!("{settings:?} {:?} {secrets:?}", settings.client_secret).contains("hunter2"));
}
