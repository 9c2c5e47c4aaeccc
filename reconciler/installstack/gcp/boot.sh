#!/bin/bash
# Boots the machine of a runner.
set -euo pipefail
metadata() { curl -fsS -H 'Metadata-Flavor: Google' "http://metadata.google.internal/computeMetadata/v1/$1"; }
attribute() { metadata "instance/attributes/$1"; }

# The runner's directory, with its keys, is on a disk that outlives the machine.
device=/dev/disk/by-id/google-nuon
until [ -e "$device" ]; do sleep 2; done
device=$(readlink -f "$device")
if [ "$(head -c 1048576 "$device" | tr -d '\0' | wc -c)" -eq 0 ]; then mkfs.ext4 -L nuon "$device"; fi
mkdir -p /var/lib/nuon
mountpoint -q /var/lib/nuon || mount "$device" /var/lib/nuon

getent passwd nuon-job || useradd --system --no-create-home --shell /usr/sbin/nologin nuon-job
curl -fsS --retry 10 --retry-all-errors --output /usr/local/bin/runnerd.new "$(attribute nuon-download-url)"
echo "$(attribute nuon-sha256)  /usr/local/bin/runnerd.new" | sha256sum --check
chmod 0755 /usr/local/bin/runnerd.new
mv /usr/local/bin/runnerd.new /usr/local/bin/runnerd

umask 077
mkdir -p /etc/nuon
secret() {
  local token
  token=$(metadata instance/service-accounts/default/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
  curl -fsS -H "Authorization: Bearer $token" "https://secretmanager.googleapis.com/v1/$1/versions/latest:access" |
    sed -n 's/.*"data": *"\([^"]*\)".*/\1/p' | base64 -d
}
arguments=$(attribute nuon-arguments)
password=$(attribute nuon-registry-password-secret)
if [ -n "$password" ]; then
  secret "$password" >/etc/nuon/registry-password
  arguments="$arguments --registry-password-file /etc/nuon/registry-password"
fi
cat >/etc/nuon/runner.env <<END
NUON_RUNNER_URL=$(attribute nuon-runner-url)
NUON_RUNNER_ARGUMENTS=$arguments
NUON_CLAIM=$(attribute nuon-claim)
NUON_REGISTRY=$(attribute nuon-registry)
NUON_REGISTRY_USERNAME=$(attribute nuon-registry-username)
GOOGLE_CLOUD_PROJECT=$(metadata project/project-id)
END
attribute nuon-unit >/etc/systemd/system/nuon-runner.service
systemctl daemon-reload
systemctl enable --now nuon-runner.service
