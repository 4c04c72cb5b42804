"""The SBOM of the image: valid SPDX, and complete."""

import hashlib
import re
import subprocess

import pytest

ITSELF = "usr/share/sbom/berth.spdx.json"


def related(sbom, kind):
    return [
        (relation["spdxElementId"], relation["relatedSpdxElement"])
        for relation in sbom["relationships"]
        if relation["relationshipType"] == kind
    ]


def elements(sbom):
    return [sbom, *sbom["packages"], *sbom["files"]]


def checksums(file):
    return {checksum["algorithm"]: checksum["checksumValue"] for checksum in file["checksums"]}


def test_document(sbom, image):
    assert (sbom["spdxVersion"], sbom["dataLicense"], sbom["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert re.fullmatch(r"https://[^#\s]+", sbom["documentNamespace"])
    assert sbom["creationInfo"]["created"] == image.config["created"]
    assert all(creator.startswith("Tool: ") for creator in sbom["creationInfo"]["creators"])
    assert related(sbom, "DESCRIBES") == [("SPDXRef-DOCUMENT", "SPDXRef-Package-berth")]


def test_beside_the_image_is_the_same(image):
    [beside] = image.layout.parent.glob("*.spdx.json")
    assert beside.read_bytes() == (image.tree / ITSELF).read_bytes()


def test_ids(sbom):
    ids = [element["SPDXID"] for element in elements(sbom)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in ids)
    for relation in sbom["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(ids), relation
    assert {relation["relationshipType"] for relation in sbom["relationships"]} == {"DESCRIBES", "CONTAINS", "DEPENDS_ON"}


@pytest.mark.parametrize("field", ["name", "versionInfo", "supplier", "downloadLocation", "licenseConcluded",
                                   "licenseDeclared", "copyrightText", "licenseInfoFromFiles"])  # fmt: skip
def test_packages_have(sbom, field):
    assert all(package[field] for package in sbom["packages"])


def test_package_names(sbom):
    for package in sbom["packages"]:
        [external] = package["externalRefs"]
        assert (external["referenceCategory"], external["referenceType"]) == ("PACKAGE-MANAGER", "purl")
        assert re.fullmatch(r"pkg:(deb/debian|generic)/[a-z0-9.+-]+@[A-Za-z0-9.%~_-]+(\?arch=\w+&distro=debian-\d+)?",
                            external["referenceLocator"]), external  # fmt: skip
        if package["name"] != "berth":
            version = subprocess.run(
                ["dpkg-query", "-W", "-f", "${Version}", package["name"]], check=True, capture_output=True, text=True
            ).stdout
            assert package["versionInfo"] == version


def test_licences(sbom):
    """Exactly the licences without a name in SPDX's list are defined."""
    extracted = [licence["licenseId"] for licence in sbom["hasExtractedLicensingInfos"]]
    named = set()
    for package in sbom["packages"]:
        declared = package["licenseDeclared"]
        named |= set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", declared))
        words = re.sub(r"LicenseRef-[A-Za-z0-9.-]+", "", declared)
        assert re.fullmatch(r"[A-Za-z0-9.() -]*", words), declared
        assert declared.count("(") == declared.count(")")
    assert len(set(extracted)) == len(extracted) and set(extracted) == named
    by_name = {package["name"]: package["licenseDeclared"] for package in sbom["packages"]}
    assert by_name["berth"] == "Apache-2.0" and by_name["zlib1g"] == "Zlib"


def test_every_file_is_listed(sbom, image):
    listed = {file["fileName"].removeprefix("./"): checksums(file) for file in sbom["files"]}
    files = image.files()
    assert set(listed) == set(files) - {ITSELF}
    for name, digests in listed.items():
        data = files[name].read_bytes()
        assert digests == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}, name


def test_every_file_has_one_package(sbom):
    contained = related(sbom, "CONTAINS")
    assert sorted(file for _, file in contained) == sorted(file["SPDXID"] for file in sbom["files"])
    by_id = {file["SPDXID"]: file for file in sbom["files"]}
    for package in sbom["packages"]:
        of_it = sorted(checksums(by_id[file])["SHA1"] for owner, file in contained if owner == package["SPDXID"])
        code = package["packageVerificationCode"]["packageVerificationCodeValue"]
        assert of_it and code == hashlib.sha1("".join(of_it).encode()).hexdigest(), package["name"]


def test_own_files(sbom):
    """All other files come from Debian."""
    own = {file for owner, file in related(sbom, "CONTAINS") if owner == "SPDXRef-Package-berth"}
    assert {file["fileName"] for file in sbom["files"] if file["SPDXID"] in own} == {
        "./usr/bin/berth", "./usr/share/doc/berth/copyright", "./etc/passwd", "./etc/group", "./etc/nsswitch.conf",
    }  # fmt: skip


def test_depends_on_what_is_linked(sbom, image):
    """All packages are dependencies of berth, direct or indirect. The direct ones are those of the libraries that
    it is linked with."""
    depends = related(sbom, "DEPENDS_ON")
    reached, queue = set(), ["SPDXRef-Package-berth"]
    while queue:
        one = queue.pop()
        for other in {b for a, b in depends if a == one} - reached:
            reached.add(other)
            queue.append(other)
    assert reached == {package["SPDXID"] for package in sbom["packages"]} - {"SPDXRef-Package-berth"}

    owner = {file: package for package, file in related(sbom, "CONTAINS")}
    id_of = {file["fileName"].rpartition("/")[2]: file["SPDXID"] for file in sbom["files"] if ".so." in file["fileName"]}
    dynamic = subprocess.run(["readelf", "--wide", "--dynamic", image.tree / "usr/bin/berth"], check=True, capture_output=True, text=True)
    direct = set()
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.stdout):
        [path] = image.tree.glob(f"usr/lib/*/{name}")
        direct.add(owner[id_of[path.resolve().name]])
    data = {owner[file["SPDXID"]] for file in sbom["files"] if "zoneinfo" in file["fileName"] or "ssl/certs" in file["fileName"]
            or "common-licenses" in file["fileName"]}  # fmt: skip
    assert {b for a, b in depends if a == "SPDXRef-Package-berth"} == direct | data


def test_every_package_has_a_copyright_file(sbom, image):
    """Each shipped package has its licence."""
    for package in sbom["packages"]:
        assert (image.tree / "usr/share/doc" / package["name"] / "copyright").stat().st_size > 100, package["name"]
