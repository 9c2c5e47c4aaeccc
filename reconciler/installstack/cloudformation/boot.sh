# Boots the machine of a runner. The lines above set what depends on the install.
set -euo pipefail
# A boot that does not finish ends the machine, and the Auto Scaling group starts another one.
shutdown -P +15
export AWS_DEFAULT_REGION="$region"
token=$(curl -fsS -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' http://169.254.169.254/latest/api/token)
instance=$(curl -fsS -H "X-aws-ec2-metadata-token: $token" http://169.254.169.254/latest/meta-data/instance-id)

# The runner's directory, with its keys, is on a volume that outlives the machine.
until aws ec2 attach-volume --volume-id "$volume" --instance-id "$instance" --device /dev/sdf; do sleep 10; done
device=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${volume/-/}
until [ -e "$device" ]; do sleep 2; done
device=$(readlink -f "$device")
if [ "$(head -c 1048576 "$device" | tr -d '\0' | wc -c)" -eq 0 ]; then mkfs.ext4 -L nuon "$device"; fi
mkdir -p /var/lib/nuon
echo 'LABEL=nuon /var/lib/nuon ext4 defaults,nofail 0 2' >>/etc/fstab
mount /var/lib/nuon

getent passwd nuon-job || useradd --system --no-create-home --shell /sbin/nologin nuon-job
curl -fsS --retry 10 --retry-all-errors --output /usr/local/bin/runnerd.new "$download_url"
echo "$sha256  /usr/local/bin/runnerd.new" | sha256sum --check
chmod 0755 /usr/local/bin/runnerd.new
mv /usr/local/bin/runnerd.new /usr/local/bin/runnerd

umask 077
mkdir -p /etc/nuon
secret() { aws secretsmanager get-secret-value --secret-id "$1" --query SecretString --output text; }
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
AWS_REGION=$region
END
cat >/etc/systemd/system/nuon-runner.service <<'END'
