package pgcluster

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// InstallHint returns a phrase that states how to install PostgreSQL on this machine.
func InstallHint() string {
	release, _ := os.ReadFile("/etc/os-release")
	return installHint(string(release), 0)
}

// installHint uses the ID and ID_LIKE of os-release(5), which name the distribution and its
// relatives. A major of zero means any version.
func installHint(release string, major int) string {
	command := packageCommand(runtime.GOOS, release, major)
	if command == "" {
		return fmt.Sprintf("install the PostgreSQL server, version %d or newer, and set %s to the directory of postgres "+
			"and initdb, or set DATABASE_URL",
			OldestMajor, BinariesVariable)
	}
	return fmt.Sprintf("run: %s (or set %s, or DATABASE_URL)", command, BinariesVariable)
}

func packageCommand(system, release string, major int) string {
	version := func(format, plain string) string {
		if major == 0 {
			return plain
		}
		return fmt.Sprintf(format, major)
	}
	if system == "darwin" {
		return "brew install " + version("postgresql@%d", "postgresql@17")
	}
	for _, kin := range distributionsOf(release) {
		switch kin {
		case "debian", "ubuntu":
			return "apt-get install " + version("postgresql-%d", "postgresql")
		case "fedora", "rhel", "centos":
			return "dnf install " + version("postgresql%d-server", "postgresql-server")
		case "alpine":
			return "apk add " + version("postgresql%d", "postgresql")
		case "arch":
			return "pacman -S postgresql"
		case "suse", "opensuse":
			return "zypper install " + version("postgresql%d-server", "postgresql-server")
		}
	}
	return ""
}

func distributionsOf(release string) []string {
	var names []string
	for _, line := range strings.Split(release, "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "ID" || key == "ID_LIKE" {
			names = append(names, strings.Fields(strings.Trim(value, `"'`))...)
		}
	}
	return names
}
