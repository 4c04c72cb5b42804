"""Certificate authorities, certificates with any validity and CRLs, made by openssl. Threads may share an authority."""

import datetime
import itertools
import pathlib
import ssl
import subprocess
import typing

PAST = {"start": "20200101000000Z", "end": "20210101000000Z"}
FUTURE = {"start": "20480101000000Z", "end": "20490101000000Z"}


def openssl(*args):
    command = ["openssl", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def stamp(seconds):
    """@seconds since 1970, in openssl's format."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y%m%d%H%M%SZ")


class Pair(typing.NamedTuple):
    """A certificate and its key, as PEM files."""

    certificate: pathlib.Path
    key: pathlib.Path


class Authority:
    """A CA in its own folder, and the certificates that it issues."""

    def __init__(self, folder, name):
        folder.mkdir()
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / "ca.crt", folder / "ca.key"
        self.numbers = itertools.count(1)
        openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", self.key, "-out", self.certificate, "-subj", f"/CN={name}", "-days", 10,
            "-addext", "keyUsage=critical,digitalSignature,keyCertSign,cRLSign",
        )  # fmt: skip

    def issue(
        self, common_name, purpose="clientAuth", names="", group=None, start=None, end=None, rsa=False
    ):
        """A Pair. To an API server @common_name is a user of @group. @names is a subjectAltName; @start
        and @end are openssl's YYYYMMDDHHMMSSZ."""
        # A folder for each certificate, because two runs of `openssl ca` cannot share its database.
        folder = self.folder / str(next(self.numbers))
        folder.mkdir()
        certificate, key = folder / "tls.crt", folder / "tls.key"
        request, settings = folder / "request.csr", folder / "openssl.cnf"
        subject = f"/O={group}/CN={common_name}" if group else f"/CN={common_name}"
        kind = ["rsa:2048"] if rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl(
            "req", "-newkey", *kind, "-nodes", "-keyout", key, "-out", request, "-subj", subject,
        )  # fmt: skip
        (folder / "index.txt").write_text("")
        settings.write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index.txt\n"
            f"new_certs_dir={folder}\nrand_serial=yes\ndefault_md=sha256\n"
            f"policy=any\nunique_subject=no\n[any]\norganizationName=optional\n"
            f"commonName=optional\n[leaf]\n"
            f"basicConstraints=CA:FALSE\nextendedKeyUsage={purpose}\n"
            + (f"subjectAltName={names}\n" if names else "")
        )
        openssl(
            "ca", "-batch", "-config", settings, "-extensions", "leaf", "-notext",
            "-cert", self.certificate, "-keyfile", self.key, "-in", request, "-out", certificate,
            "-startdate", start or "20200101000000Z", "-enddate", end or "20491231000000Z",
        )  # fmt: skip
        return Pair(certificate, key)

    def context(self, pair=None):
        """A TLS context for a client that trusts this authority and presents @pair."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        if pair:
            context.load_cert_chain(*map(str, pair))
        return context

    def revoke(self, *pairs, end="20491231000000Z"):
        """A CRL as text that revokes @pairs. Its nextUpdate is @end."""
        folder = self.folder / str(next(self.numbers))
        folder.mkdir()
        settings, crl = folder / "openssl.cnf", folder / "ca.crl"
        serials = [openssl("x509", "-noout", "-serial", "-in", pair[0]) for pair in pairs]
        (folder / "index.txt").write_text(
            "".join(
                f"R\t491231000000Z\t200101000000Z\t{serial.strip().partition('=')[2]}\tunknown\t/CN=x\n"
                for serial in serials
            )
        )
        settings.write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index.txt\ndefault_md=sha256\n"
        )
        openssl(
            "ca", "-gencrl", "-config", settings, "-cert", self.certificate, "-keyfile", self.key,
            "-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", end, "-out", crl,
        )  # fmt: skip
        return crl.read_text()

    def issue_client(self, user, group=None):
        return self.issue(user, group=group)

    def issue_server(self, names="DNS:localhost,IP:127.0.0.1", **times):
        return self.issue("berth", "serverAuth", names, **times)
