package cloudformation_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// customer creates stacks from a template in a simulated account.
type customer struct {
	*testing.T
	cloud    *cloudtest.Cloud
	template []byte
}

func newCustomer(t *testing.T, stack *installstack.Stack) *customer {
	t.Helper()
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	return &customer{t, cloud, render(t, stack)}
}

// create creates the stack with what the customer entered besides the required parameters, as NAME, VALUE, ….
func (c *customer) create(account, region string, entered map[string]string) (*cloudtest.Stack, error) {
	parameters := map[string]string{"Registry": "registry.example.com/acme", "InputDomain": "acme.example.com",
		"SecretLicenseValue": "x", "SecretWildcardArn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:w"}
	maps.Copy(parameters, entered)
	return c.cloud.AWS.LaunchStack(c.template, cloudtest.StackOptions{Name: "ledger", Account: account, Region: region,
		Parameters: parameters})
}

// assume starts a session of a role as the machine of the runner.
func (c *customer) assume(role string) error {
	machine := cloudtest.Role{Account: "111122223333", Name: installstack.RunnerRoleName(stacktest.InstallID)}
	s := c.cloud.AWS.NewSession(machine, "i-1", time.Hour)
	client := sts.New(sts.Options{Region: "eu-central-1", HTTPClient: c.cloud.Client(),
		Credentials: credentials.NewStaticCredentialsProvider(s.AccessKeyID, s.SecretAccessKey, s.SessionToken)})
	_, err := client.AssumeRole(c.Context(), &sts.AssumeRoleInput{RoleSessionName: aws.String("job_1"),
		RoleArn: aws.String("arn:aws:iam::111122223333:role/" + stacktest.InstallID + "-" + role)})
	return err
}

// TestWrongTarget checks that a stack of a known account and region is refused in others before anything is made.
func TestWrongTarget(t *testing.T) {
	c := newCustomer(t, variants(t)["pinned"])
	for _, target := range [][2]string{{"999999999999", "eu-central-1"}, {"111122223333", "us-east-1"}} {
		if _, err := c.create(target[0], target[1], nil); err == nil ||
			!strings.Contains(err.Error(), "This stack is for the") {
			t.Errorf("%v: %v", target, err)
		}
	}
	if err := c.assume("provision"); err == nil {
		t.Error("a role was made")
	}
	if _, err := c.create("111122223333", "eu-central-1", nil); err != nil {
		t.Error(err)
	}
}

// TestBreakGlassInTheAccount grants emergency access for three minutes: without an end the stack is refused, and after
// the end the account starts no session of the role, while that of provisioning stays as it is.
func TestBreakGlassInTheAccount(t *testing.T) {
	c := newCustomer(t, variants(t)["full"])
	if _, err := c.create("111122223333", "eu-central-1", map[string]string{"EnableRepair": "true"}); err == nil ||
		!strings.Contains(err.Error(), "Emergency access needs an end") {
		t.Fatalf("without an end: %v", err)
	}
	until := c.cloud.Now().Add(3 * time.Minute).UTC().Format(time.RFC3339)
	made, err := c.create("111122223333", "eu-central-1", map[string]string{"EnableRepair": "true", "UntilRepair": until})
	if err != nil {
		t.Fatal(err)
	}
	outputs := made.Resources["PhoneHomeReport"].Properties["Outputs"].(map[string]any)
	if got := outputs["break_glass_until"].(map[string]any); got[stacktest.InstallID+"-repair"] != until {
		t.Errorf("the stack reports the end %v", got)
	}
	for _, role := range []string{"repair", "provision"} {
		if err := c.assume(role); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	c.cloud.MoveClock(4 * time.Minute) // less than AWS accepts between its clock and that of a request
	if err := c.assume("repair"); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("after its end: %v", err)
	}
	if err := c.assume("provision"); err != nil {
		t.Error(err)
	}
}

// TestMachineOfTheStack checks the machine of a stack that was created: nobody connects to it, its own role may do
// nothing but what it starts with, and its disks and its metadata service are those that the docs promise.
func TestMachineOfTheStack(t *testing.T) {
	c := newCustomer(t, variants(t)["full"])
	made, err := c.create("111122223333", "eu-central-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range made.Resources {
		if r.Type == "AWS::EC2::SecurityGroupIngress" || r.Properties["SecurityGroupIngress"] != nil {
			t.Errorf("%s accepts connections: %v", id, r.Properties)
		}
		if encrypted, has := r.Properties["Encrypted"]; r.Type == "AWS::EC2::Volume" && (!has || encrypted != true) {
			t.Errorf("the volume %s is not encrypted", id)
		}
	}
	machine, _ := made.Resources["RunnerTemplate"].Properties["LaunchTemplateData"].(map[string]any)
	options, _ := machine["MetadataOptions"].(map[string]any)
	if options["HttpTokens"] != "required" || fmt.Sprint(options["HttpPutResponseHopLimit"]) != "1" {
		t.Errorf("the metadata service has %v", options)
	}
	if disks := fmt.Sprint(machine["BlockDeviceMappings"]); !strings.Contains(disks, "Encrypted:true") {
		t.Errorf("the disks are %s", disks)
	}
	group := made.Resources["RunnerGroup"].Properties
	if fmt.Sprint(group["MinSize"]) != "1" || fmt.Sprint(group["MaxSize"]) != "1" {
		t.Errorf("the group has %v to %v machines", group["MinSize"], group["MaxSize"])
	}
	subnets := map[string]int{}
	for id, r := range made.Resources {
		if r.Type == "AWS::EC2::Subnet" || r.Type == "AWS::EC2::NatGateway" {
			subnets[strings.TrimRight(id, "123")]++
		}
	}
	if subnets["PublicSubnet"] != 3 || subnets["PrivateSubnet"] != 3 || subnets["RunnerSubnet"] == 0 ||
		len(subnets) != 4 {
		t.Errorf("the network has %v", subnets)
	}

	raw, err := json.Marshal(made.Resources["RunnerPermissions"].Properties["PolicyDocument"])
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct{ Sid, Effect string }
	}
	if err := json.Unmarshal(raw, &policy); err != nil {
		t.Fatal(err)
	}
	var may []string
	for _, s := range policy.Statement {
		may = append(may, s.Sid)
	}
	want := []string{"ProveTheAccount", "ReadSecretsOfTheInstall", "AttachTheDisk", "AssumeRolesOfTheInstall"}
	if !slices.Equal(may, want) {
		t.Errorf("the machine may %q, want %q", may, want)
	}
	reports := fmt.Sprint(made.Resources["PhoneHomePermissions"].Properties["PolicyDocument"])
	if strings.Count(reports, "Sid:") != 1 ||
		!strings.Contains(reports, "Action:[logs:CreateLogStream logs:PutLogEvents]") {
		t.Errorf("the function that reports may %s", reports)
	}
}
