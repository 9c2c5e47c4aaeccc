# Boots the machine of a runner, or brings it up to date. The lines above set what depends on the install.
set -euo pipefail

# The runner's directory, with its keys, is on a disk that outlives the machine.
device=/dev/disk/azure/scsi1/lun0
until [ -e "$device" ]; do sleep 2; done
device=$(readlink -f "$device")
if [ "$(head -c 1048576 "$device" | tr -d '\0' | wc -c)" -eq 0 ]; then mkfs.ext4 -L nuon "$device"; fi
mkdir -p /var/lib/nuon
grep -q '^LABEL=nuon ' /etc/fstab || echo 'LABEL=nuon /var/lib/nuon ext4 defaults,nofail 0 2' >>/etc/fstab
mountpoint -q /var/lib/nuon || mount /var/lib/nuon

getent passwd nuon-job || useradd --system --no-create-home --shell /usr/sbin/nologin nuon-job
curl -fsS --retry 10 --retry-all-errors --output /usr/local/bin/runnerd.new "$download_url"
echo "$sha256  /usr/local/bin/runnerd.new" | sha256sum --check
chmod 0755 /usr/local/bin/runnerd.new
mv /usr/local/bin/runnerd.new /usr/local/bin/runnerd

umask 077
mkdir -p /etc/nuon
# The permission of the machine's identity takes effect some minutes after it was given.
secret() {
  local token
  token=$(curl -fsS -H Metadata:true \
    'http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net' |
    sed 's/.*"access_token":"\([^"]*\)".*/\1/')
  curl -fsS --retry 30 --retry-delay 10 --retry-all-errors -H "Authorization: Bearer $token" \
    "https://$vault.vault.azure.net/secrets/$1?api-version=7.4" | python3 -c 'import json, sys; print(json.load(sys.stdin)["value"], end="")'
}
if [ -n "$registry_secret" ]; then
  secret "$registry_secret" >/etc/nuon/registry-password
  arguments="$arguments --registry-password-file /etc/nuon/registry-password"
fi
cat >/etc/nuon/runner.env <<END
NUON_RUNNER_URL=$runner_url
NUON_RUNNER_ARGUMENTS=$arguments
NUON_CLAIM=$claim
NUON_REGISTRY=$registry
NUON_REGISTRY_USERNAME=$registry_username
END
cat >/etc/systemd/system/nuon-runner.service <<'END'
