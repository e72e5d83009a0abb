//! The file system that a command sees: programs it can run and its job's own directories, nothing else.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use rustix::cstr;
use rustix::fs::{Mode, mkdir};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
    mount_change, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::at;
use crate::spec::{Setup, SetupFailed, SetupStep};

/// The user and group id of the command inside the sandbox.
pub(super) const USER: u32 = 1000;

/// The folder of the packages of a job's skills.
const PACKAGES: &str = "/opt/packages";

/// Returns the path of the packages with this number, counted from 0.
pub(crate) fn packages_place(number: usize) -> PathBuf {
    Path::new(PACKAGES).join(number.to_string())
}

/// The directory where the new root is built. Every system has it, and it is covered in the new namespace only.
const NEW_ROOT: &str = "/tmp";
/// Paths that programs need in addition to /usr. None of them contains secrets of this machine.
const READ_ONLY: [&str; 27] = [
    "/etc/ImageMagick-6",
    "/etc/ImageMagick-7",
    "/etc/alternatives",
    "/etc/chromium.d",
    "/etc/fonts",
    "/etc/ghostscript",
    "/etc/ld.so.cache",
    "/etc/libreoffice",
    "/etc/localtime",
    "/etc/magic",
    "/etc/matplotlibrc",
    "/etc/mime.types",
    "/etc/papersize",
    "/etc/perl",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/python3.13",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/var/cache/fontconfig",
    "/var/lib/ghostscript",
    "/var/lib/libreoffice",
    "/var/lib/texmf",
];
/// Links into /usr on most systems, directories on some.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Directories that are created in the new root.
const OWN: [&str; 9] = [
    "/dev/shm",
    "/etc",
    "/proc",
    "/run",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/workspace",
];
/// Symbolic links that programs expect, and their targets.
const LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/var/tmp", "/tmp"),
];
/// Files of /proc that describe the machine and not a process, and that no program needs.
const MASKED: [&str; 2] = ["/proc/cmdline", "/proc/config.gz"];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Paths of this machine that a command can read, in addition to those that the operator adds.
pub(super) fn shown() -> impl Iterator<Item = &'static str> {
    ["/usr"].into_iter().chain(SYSTEM).chain(READ_ONLY)
}

/// Returns whether a command can read this path.
pub(crate) fn shows(path: &Path) -> bool {
    shown().any(|it| path.starts_with(it))
}

/// The devices that a command can use.
pub(super) fn devices() -> impl Iterator<Item = PathBuf> {
    DEVICES.iter().map(|name| Path::new("/dev").join(name))
}

const HIDDEN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The paths of this machine that are shown, looked up once for all commands.
pub(super) struct Layout {
    /// In the order of their creation.
    directories: Vec<PathBuf>,
    /// Empty files that serve as mount points for files.
    files: Vec<PathBuf>,
    /// Paths of the machine, with their mount points.
    binds: Vec<(PathBuf, PathBuf)>,
    /// Links, with their targets.
    links: Vec<(PathBuf, PathBuf)>,
    /// Files that no process can read.
    masked: Vec<PathBuf>,
}

impl Layout {
    /// Reads the layout of this machine.
    pub(super) fn look() -> Self {
        let mut layout = Self {
            directories: Vec::new(),
            files: Vec::new(),
            binds: Vec::new(),
            links: Vec::new(),
            masked: Vec::new(),
        };
        for directory in OWN {
            layout.add_directory(Path::new(directory));
        }
        for path in shown().map(Path::new) {
            match fs::read_link(path) {
                // /bin is usually a link to usr/bin, which is shown.
                Ok(target) if SYSTEM.iter().any(|it| Path::new(it) == path) => {
                    layout.links.push((under_root(path), target));
                }
                _ => layout.add_bind(path),
            }
        }
        for path in devices() {
            layout.files.push(under_root(path));
        }
        for (path, target) in LINKS {
            layout.links.push((under_root(path), target.into()));
        }
        for path in MASKED.into_iter().filter(|path| Path::new(path).exists()) {
            layout.masked.push(under_root(path));
        }
        layout
    }

    fn add_bind(&mut self, path: &Path) {
        let Ok(data) = fs::metadata(path) else {
            return;
        };
        if data.is_dir() {
            self.add_directory(path);
        } else {
            self.add_directory(path.parent().unwrap_or(path));
            self.files.push(under_root(path));
        }
        self.binds.push((path.to_owned(), under_root(path)));
    }

    fn add_directory(&mut self, path: &Path) {
        let ancestors: Vec<_> = path.ancestors().collect();
        for directory in ancestors.into_iter().rev().skip(1).map(under_root) {
            if !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
    }
}

/// Builds the file system and makes it the root. The working directory must be the job's; afterwards it is the
/// workspace.
pub(super) fn build(layout: &Layout, setup: &Setup) -> Result<(), SetupFailed> {
    populate(layout, setup).map_err(at(SetupStep::Mounts))?;
    let flags = HIDDEN | MountFlags::NOEXEC;
    mount("proc", under_root("/proc"), "proc", flags, None).map_err(at(SetupStep::Proc))?;
    // /dev/null is a device, and devices are later disabled on this mount, so no process can open the masked files.
    let mut masked = layout.masked.iter();
    masked
        .try_for_each(|path| mount_bind("/dev/null", path))
        .map_err(at(SetupStep::Proc))?;
    enter().map_err(at(SetupStep::Root))
}

fn populate(layout: &Layout, setup: &Setup) -> io::Result<()> {
    // The mounts that follow are not visible outside.
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private)?;
    // Opened now, because the new root may cover these paths.
    let packages = setup.packages.iter().map(File::open);
    let packages = packages.collect::<io::Result<Vec<_>>>()?;
    let options = cstr!("size=1m,nr_inodes=1k,mode=755");
    mount("tmpfs", NEW_ROOT, "tmpfs", HIDDEN, Some(options))?;
    for directory in &layout.directories {
        mkdir(directory, Mode::from_raw_mode(0o755))?;
    }
    for file in &layout.files {
        make_file(file, "")?;
    }
    for (link, target) in &layout.links {
        symlink(target, link)?;
    }
    for (path, target) in &layout.binds {
        mount_bind_recursive(path, target)?;
    }
    setup.read_only.iter().try_for_each(show)?;
    for (number, packages) in packages.iter().enumerate() {
        let target = under_root(packages_place(number));
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&target)?;
        mount_bind(format!("/proc/self/fd/{}", packages.as_raw_fd()), &target)?;
    }
    own_files(&setup.hosts)?;
    // Restricts all mounts so far in one call.
    restrict(&under_root("/"), libc::MOUNT_ATTR_RDONLY)?;
    for path in devices() {
        mount_bind(&path, under_root(&path))?;
    }
    let options = cstr!("size=64m,nr_inodes=4k,mode=1777");
    let shm = under_root("/dev/shm");
    mount("tmpfs", shm, "tmpfs", HIDDEN, Some(options))?;
    bring("workspace", "/workspace")?;
    bring("tmp", "/tmp")
}

/// Binds a directory that the operator chose.
fn show(path: &PathBuf) -> io::Result<()> {
    let target = under_root(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(&target)?;
    Ok(mount_bind_recursive(path, &target)?)
}

/// Binds a directory of the job, by its name in the working directory.
fn bring(name: &str, path: &str) -> io::Result<()> {
    let target = under_root(path);
    mount_bind(name, &target)?;
    restrict(&target, 0)
}

/// Makes /proc read-only. Otherwise a process could make the kernel kill other processes before it when memory runs
/// out.
pub(super) fn close_proc() -> io::Result<()> {
    restrict(Path::new("/proc"), libc::MOUNT_ATTR_RDONLY)
}

/// Disables devices and set-user-ID programs on this mount and those below it, and adds the attributes in `more`.
/// Earlier restrictions stay.
fn restrict(target: &Path, more: u64) -> io::Result<()> {
    let path = std::ffi::CString::new(target.as_os_str().as_bytes())?;
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | more,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends with NUL. The kernel knows the size of the attributes, reads them, and writes nothing.
    #[expect(unsafe_code)]
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Writes the files that name users and hosts.
fn own_files(hosts: &str) -> io::Result<()> {
    let passwd =
        format!("root:x:0:0::/:/usr/sbin/nologin\nsandbox:x:{USER}:{USER}::/workspace:/bin/bash\n");
    let hosts = format!("127.0.0.1 localhost sandbox\n::1 localhost\n{hosts}");
    let files = [
        ("/etc/passwd", passwd),
        ("/etc/group", format!("root:x:0:\nsandbox:x:{USER}:\n")),
        ("/etc/hosts", hosts),
        ("/etc/hostname", "sandbox\n".to_owned()),
        (
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\nservices: files\n".to_owned(),
        ),
        ("/etc/resolv.conf", String::new()),
    ];
    files
        .iter()
        .try_for_each(|(path, text)| make_file(&under_root(path), text))
}

/// Makes the new root the root directory and removes access to the old one.
fn enter() -> io::Result<()> {
    chdir(NEW_ROOT)?;
    // Both are the same directory: the old root is stacked on the new one until it is unmounted (pivot_root(2)).
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/workspace")?;
    Ok(())
}

fn under_root(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    Path::new(NEW_ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

fn make_file(path: &Path, text: &str) -> io::Result<()> {
    File::create_new(path)?.write_all(text.as_bytes())
}
