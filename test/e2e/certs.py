"""Certificate authorities, and what they issue. openssl does the work."""

import subprocess


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Pair:
    """A certificate and its key, as PEM files."""

    def __init__(self, base):
        self.certificate, self.key = base.with_suffix(".crt"), base.with_suffix(".key")


class Authority:
    """A CA in a folder of its own."""

    def __init__(self, folder, name):
        folder.mkdir()
        self.folder = folder
        self.own = Pair(folder / "ca")
        self.n_issued = 0
        self._make(self.own, f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    @property
    def certificate(self):
        return self.own.certificate

    def issue_client(self, user, group=None):
        """For @user, as the API server reads it: CN is the name, O the group."""
        subject = f"/O={group}/CN={user}" if group else f"/CN={user}"
        return self._issue(subject, "extendedKeyUsage=clientAuth")

    def issue_server(self, names="DNS:localhost,IP:127.0.0.1"):
        return self._issue(
            "/CN=server", "extendedKeyUsage=serverAuth", f"subjectAltName={names}"
        )

    def _issue(self, subject, *extensions):
        self.n_issued += 1
        pair = Pair(self.folder / str(self.n_issued))
        options = [word for each in extensions for word in ("-addext", each)]
        signed = ["-CA", self.own.certificate, "-CAkey", self.own.key]
        self._make(pair, subject, *signed, "-addext", "basicConstraints=CA:FALSE", *options)
        return pair

    def _make(self, pair, subject, *options):
        openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", pair.key, "-out", pair.certificate, "-subj", subject, "-days", 10,
            *options,
        )  # fmt: skip
