"""An OCI image: its configuration, its files, and commands that run in it.

A command runs like a container: as the image's user, in a read-only root, with /proc and
its mounts, but on this machine's network.
"""

import json
import os
import shutil
import subprocess
import tarfile

import pytest

# Root, then mounts (FROM=TO …), then the user and the command.
RUN = r"""
set -e
root=$1 mounts=$2 user=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
for pair in $mounts; do
    mount --bind "${pair%%=*}" "$root${pair#*=}"
    mount -o remount,bind,ro "$root${pair#*=}"
done
exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$user" "$root" "$@"
"""
MOUNT_POINTS = [
    "/etc/berth/policies",
    "/etc/berth/tls",
    "/var/run/secrets/kubernetes.io/serviceaccount",
]
MOUNTED_FILES = ["/etc/hosts", "/etc/resolv.conf"]  # the kubelet's


class Image:
    def __init__(self, layout, folder):
        self.layout = layout
        if not (layout / "index.json").exists():
            pytest.fail(f"{layout} does not exist: run make ship-test, or make image")
        [self.descriptor] = json.loads((layout / "index.json").read_text())["manifests"]
        self.manifest = json.loads(self.blob(self.descriptor["digest"]).read_bytes())
        self.config = json.loads(self.blob(self.manifest["config"]["digest"]).read_bytes())
        self.tree = self._unpack(folder / "looked-at")
        self.root = self._unpack(folder / "run")
        for path in [*MOUNT_POINTS, "/proc"]:
            (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for path in MOUNTED_FILES:
            (self.root / path.lstrip("/")).touch()

    def blob(self, digest):
        return self.layout / "blobs" / digest.replace(":", "/")

    def _unpack(self, bundle):
        name = self.descriptor["annotations"]["org.opencontainers.image.ref.name"]
        rootless = [] if os.getuid() == 0 else ["--rootless"]
        subprocess.run(
            ["umoci", "unpack", *rootless, "--image", f"{self.layout}:{name}", bundle],
            check=True,
            capture_output=True,
        )
        return bundle / "rootfs"

    def members(self):
        """The tar entries of all layers."""
        found = []
        for layer in self.manifest["layers"]:
            with tarfile.open(self.blob(layer["digest"])) as archive:
                found += archive.getmembers()
        return found

    def files(self):
        """{path from the root: path here} of regular files."""
        paths = [path for path in self.tree.rglob("*") if path.is_file() and not path.is_symlink()]
        return {str(path.relative_to(self.tree)): path for path in paths}

    def command(self, *arguments, mounts=(), env=()):
        """The command that starts the image's program with @arguments, or with its default ones. @mounts: {path in the
        image: path here}."""
        if os.getuid() != 0 or not shutil.which("unshare"):
            pytest.skip("to run the image without a container engine, one has to be root")
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
            pytest.skip("no mount namespaces here")
        settings = self.config["config"]
        variables = [*settings.get("Env", []), *(f"{name}={value}" for name, value in dict(env).items())]
        pairs = " ".join(f"{here}={there}" for there, here in dict(mounts).items())
        return [
            "env", "-i", *variables, "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", RUN,
            "sh", str(self.root), pairs, settings["User"],
            *settings["Entrypoint"], *map(str, arguments or settings["Cmd"]),
        ]  # fmt: skip

    def run(self, *arguments, **how):
        return subprocess.run(self.command(*arguments, **how), capture_output=True, text=True, timeout=60)
