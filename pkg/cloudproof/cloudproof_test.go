package cloudproof_test

import (
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
)

func TestSTSHost(t *testing.T) {
	for region, want := range map[string]string{
		"eu-central-1": "sts.eu-central-1.amazonaws.com", "us-gov-west-1": "sts.us-gov-west-1.amazonaws.com",
		"cn-north-1": "sts.cn-north-1.amazonaws.com.cn", "ap-southeast-2": "sts.ap-southeast-2.amazonaws.com",
	} {
		if got, err := cloudproof.STSHost(region); err != nil || got != want {
			t.Errorf("%s: %s, %v", region, got, err)
		}
	}
	for _, region := range []string{
		"", "x", "eu-central", "eu-central-1.evil.example", "eu-central-1/x", "EU-CENTRAL-1", "eu--1", "eu-central-1@x",
		"eu-central-1#", "a-b-1", "eu-central-1:8443", "eu-a-b-c-d-1", "eu-cent.ral-1", "eu-central-\n1", "éu-central-1",
	} {
		if got, err := cloudproof.STSHost(region); err == nil {
			t.Errorf("%q became %s", region, got)
		}
	}
}

func TestAudience(t *testing.T) {
	for address, want := range map[string]string{
		"https://runners.example.com":       "https://runners.example.com/runner/v1/claim/n1",
		"https://Runners.example.com:443/":  "https://runners.example.com/runner/v1/claim/n1",
		"https://runners.example.com:8443/": "https://runners.example.com:8443/runner/v1/claim/n1",
		"http://127.0.0.1:80":               "https://127.0.0.1/runner/v1/claim/n1",
	} {
		if got, err := cloudproof.Audience(address, "n1"); err != nil || got != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	if _, err := cloudproof.Host("runners"); err == nil {
		t.Error("an address without a host has an audience")
	}
}
