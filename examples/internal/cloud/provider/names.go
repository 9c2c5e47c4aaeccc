package main

import (
	"encoding/json"
	"os"
	"strings"
)

// The identities of the simulated accounts.
const (
	awsAccount    = "123456789012"
	googleNumber  = "123456789012"
	subscription  = "11111111-2222-4333-8444-555555555555"
	tenant        = "22222222-3333-4444-8555-666666666666"
	azureClient   = "33333333-4444-4555-8666-777777777777"
	azureObject   = "44444444-5555-4666-8777-888888888888"
	startOfClouds = "2026-01-01T00:00:00Z"
)

func jsonNumber(text string) json.Number { return json.Number(text) }

// variables are the names in templates that are not attributes.
var variables map[string]func(*filler) string

func init() { // here, because some of them read variables themselves
	variables = map[string]func(*filler) string{
		"region":       (*filler).region,
		"location":     (*filler).location,
		"account":      (*filler).account,
		"project":      (*filler).project,
		"partition":    (*filler).partition,
		"subscription": (*filler).subscription,
		"uuid":         func(f *filler) string { return uuid(f.seed) },
		"kind":         (*filler).kind,
		"label":        (*filler).label,
		"iam path":     func(f *filler) string { return firstText(asText(f.top["path"]), "/") },
		"issuer":       func(f *filler) string { return strings.TrimPrefix(asText(f.top["url"]), "https://") },
		"azure type": func(f *filler) string {
			typ, _, _ := strings.Cut(asText(f.top["type"]), "@")
			return typ
		},
	}
}

// kind returns the type without its provider, with dashes.
func (f *filler) kind() string {
	return strings.ReplaceAll(strings.TrimPrefix(f.typ, f.server.name+"_"), "_", "-")
}

// label returns the name of the object, or digits of the seed if it has none.
func (f *filler) label() string {
	if name := f.text("name"); name != "" {
		return name
	}
	return f.seed[:12]
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// region returns the region that the object or the provider names, or that of the environment.
func (f *filler) region() string {
	config := f.server.config
	if f.server.name == "google" {
		return firstText(asText(f.top["region"]), regionOf(asText(f.top["location"])), regionOf(asText(f.top["zone"])),
			asText(config["region"]), regionOf(asText(config["zone"])), os.Getenv("GOOGLE_REGION"), "us-central1")
	}
	if f.server.name == "azurerm" || f.server.name == "azapi" {
		return firstText(asText(f.top["location"]), "eastus")
	}
	return firstText(asText(f.top["region"]), asText(config["region"]), os.Getenv("AWS_REGION"),
		os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
}

// regionOf returns the region of a location of Google: a region or a zone. A location that is larger
// than a region has none.
func regionOf(location string) string {
	parts := strings.Split(location, "-")
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts[:2], "-")
}

func (f *filler) location() string { return firstText(asText(f.top["location"]), f.region()) }

// zones returns the names of the zones of the region.
func (f *filler) zones() (made []string) {
	separator := ""
	if f.server.name == "google" {
		separator = "-"
	}
	for _, letter := range []string{"a", "b", "c"} {
		made = append(made, f.region()+separator+letter)
	}
	return made
}

// account returns the account of the role that the provider assumes, or the one of the cloud.
func (f *filler) account() string {
	for _, role := range asList(f.server.config["assume_role"]) {
		if parts := strings.Split(asText(asObject(role)["role_arn"]), ":"); len(parts) > 5 && parts[4] != "" {
			return parts[4]
		}
	}
	return awsAccount
}

func (f *filler) partition() string {
	switch region := f.region(); {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

func (f *filler) project() string {
	return firstText(asText(f.top["project"]), asText(f.server.config["project"]), os.Getenv("GOOGLE_PROJECT"),
		os.Getenv("GOOGLE_CLOUD_PROJECT"), "simulated-project")
}

func (f *filler) subscription() string {
	return firstText(asText(f.server.config["subscription_id"]), os.Getenv("ARM_SUBSCRIPTION_ID"), subscription)
}

// pattern returns the template of a text by its name.
func (f *filler) pattern(name, path string) string {
	if path == "" {
		switch name {
		case "id":
			return f.idTemplate()
		case "arn":
			return f.arnTemplate()
		case "name":
			if prefix := asText(f.top["name_prefix"]); prefix != "" {
				return prefix + "20260101000000{#8}"
			}
			return "{kind}-{#8}"
		}
	}
	for _, p := range patterns {
		if name == p.name || p.suffix && strings.HasSuffix(name, p.name) {
			return p.template
		}
	}
	return ""
}

// patterns are the templates of texts of many types by name, or by the end of the name. The first
// one that fits counts.
var patterns = []struct {
	name     string
	suffix   bool
	template string
}{
	{"prefix", true, ""},
	{"region", false, "{region}"},
	{"location", false, "{location}"},
	{"partition", false, "{partition}"},
	{"project", false, "{project}"},
	{"account_id", false, "{account}"},
	{"owner_id", false, "{account}"},
	{"registry_id", false, "{account}"},
	{"subscription_id", false, "{subscription}"},
	{"tenant_id", false, tenant},
	{"self_link", false, "https://www.googleapis.com/compute/v1/{id}"},
	{"_arn", true, "arn:{partition}:simulated:{region}:{account}:{kind}/{#12}"},
	{"arn", false, "arn:{partition}:simulated:{region}:{account}:{kind}/{#12}"},
	{"fingerprint", true, "{#40}"},
	{"dns_name", true, "{label}-{#8}.{region}.cloud.example"},
	{"fqdn", true, "{label}-{#8}.{region}.cloud.example"},
	{"domain_name", true, "{label}-{#8}.{region}.cloud.example"},
	{"hostname", true, "{label}-{#8}.{region}.cloud.example"},
	{"endpoint_address", true, "{label}-{#8}.{region}.cloud.example"},
	{"endpoint", true, "https://{#12}.{region}.cloud.example"},
	{"url", true, "https://{#12}.{region}.cloud.example"},
	{"uri", true, "https://{#12}.{region}.cloud.example"},
	{"host", false, "https://{#12}.{region}.cloud.example"},
	{"availability_zone", false, "{region}a"},
	{"zone", false, "{region}-a"},
	{"private_ip", true, "10.0.0.10"},
	{"ip", true, "203.0.113.10"},
	{"ip_address", true, "203.0.113.10"},
	{"address", false, "203.0.113.10"},
	{"cidr", true, "10.0.0.0/24"},
	{"cidr_block", true, "10.0.0.0/24"},
	{"cidr_range", true, "10.0.0.0/24"},
	{"_at", true, startOfClouds},
	{"date", true, startOfClouds},
	{"timestamp", true, startOfClouds},
	{"_time", true, startOfClouds},
	{"vpc_id", true, "vpc-0{#16}"},
	{"security_group_id", true, "sg-0{#16}"},
	{"subnet_id", true, "subnet-0{#16}"},
	{"zone_id", true, "Z{^13}"},
	{"_id", true, "{uuid}"},
	{"uid", false, "{uuid}"},
	{"etag", false, "{#32}"},
	{"policy", true, "{}"},
	{"json", true, "{}"},
	{"version", true, "1"},
	{"namespace", false, "default"},
	{"status", false, "ACTIVE"},
	{"state", false, "ACTIVE"},
	{"token", true, "simulated-{#20}"},
	{"password", true, "simulated-{#20}"},
	{"secret", true, "simulated-{#20}"},
	{"name", true, "{kind}-{#8}"},
}
