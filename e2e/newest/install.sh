#!/bin/sh
# Unpacks the newest pi. Not all of its dependencies can be had, but its program is bundled with them, and its declarations
# need only these packages.
set -eu
cd "$(dirname "$0")"
rm -rf node_modules
mkdir -p node_modules/.packed node_modules/.bin
packages=$(node -p 'Object.entries(require("./package.json").dependencies).map((entry) => entry.join("@")).join(" ")')
# Each name is a word of its own.
# shellcheck disable=SC2086
npm pack --silent --pack-destination node_modules/.packed $packages >/dev/null
# Not every system has sha256sum.
node -e '
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
for (const line of readFileSync("SHA256SUMS", "utf8").trim().split("\n")) {
	const [sum, name] = line.split(/ +/);
	const found = createHash("sha256").update(readFileSync(`node_modules/.packed/${name}`)).digest("hex");
	if (found !== sum) throw new Error(`${name} is not the file that was expected: ${found}`);
}'
for package in $packages; do
	name=${package%@*}
	mkdir -p "node_modules/$name"
	tar -xzf "node_modules/.packed/$(echo "${package#@}" | tr '/@' '--').tgz" --strip-components=1 -C "node_modules/$name"
done
ln -s ../@earendil-works/pi-coding-agent/dist/bundle/cli.js node_modules/.bin/pi
rm -r node_modules/.packed
