package cloudformation

import (
	_ "embed"

	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// bootScript prepares the machine.
//
//go:embed boot.sh
var bootScript string

const runnerDisk = "RunnerDisk"

// addRunner adds the parameters of the runner's machine, its role and its secrets.
func (t *template) addRunner() {
	instance := t.stack.Runner.InstanceType
	if instance == "" {
		instance = "t3a.medium"
	}
	names := []string{
		t.addParameter("Registry", "Registry", "HOST/PATH of a registry of yours that stores copies of what is deployed.",
			object{"AllowedPattern": `^[A-Za-z0-9][A-Za-z0-9._:/-]*$`}),
		t.addParameter("RegistryUsername", "Username of the registry", "", object{"Default": "",
			"AllowedPattern": `^[A-Za-z0-9._:/@+-]*$`}),
		t.addParameter("RegistryPassword", "Password of the registry", "", object{"Default": "", "NoEcho": true}),
		t.addParameter("InstanceType", "Size of the machine", "", object{"Default": installstack.Plain(instance, 64),
			"AllowedPattern": `^[a-z0-9-]+\.[a-z0-9-]+$`}),
		t.addParameter("RootVolumeSize", "Size of its disk in GiB", "", object{"Type": "Number", "Default": "30",
			"MinValue": 10, "MaxValue": 1000}),
		t.addParameter("RunnerImage", "Image of the machine", "A parameter of Systems Manager with an image of Amazon "+
			"Linux 2023 for the architecture x86_64.", object{"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>",
			"Default": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"}),
	}
	t.addGroup("Runner", names)
	t.conditions["HasRegistryPassword"] = not(equals(ref("RegistryPassword"), ""))
	t.addResource("RegistryPasswordSecret", "AWS::SecretsManager::Secret", object{
		"Description": "Password of the registry of the runner", "SecretString": ref("RegistryPassword"),
		"Tags": t.tags()})["Condition"] = "HasRegistryPassword"
	t.addRunnerRole()
}

// runnerRoleName returns the name of the runner's own role.
func (t *template) runnerRoleName() string {
	return installstack.RunnerRoleName(t.stack.Install.ID)
}

// addRunnerRole adds the role of the machine. It may assume the roles of the stack, read the secrets with which it
// starts and those of the install, and attach its disk.
func (t *template) addRunnerRole() {
	t.addResource("RunnerRole", "AWS::IAM::Role", object{
		"RoleName":    t.runnerRoleName(),
		"Description": "The machine of the runner",
		"AssumeRolePolicyDocument": object{"Version": "2012-10-17", "Statement": list{object{
			"Effect": "Allow", "Principal": object{"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}}},
		"Tags": t.tags(),
	})
	t.addResource("RunnerProfile", "AWS::IAM::InstanceProfile", object{"Roles": list{ref("RunnerRole")}})
	statements := list{
		ifElse("HasRegistryPassword", object{"Sid": "ReadSecretsOfTheRunner", "Effect": "Allow",
			"Action": "secretsmanager:GetSecretValue", "Resource": ref("RegistryPasswordSecret")}, ref("AWS::NoValue")),
		object{"Sid": "ProveTheAccount", "Effect": "Allow", "Action": "sts:GetWebIdentityToken", "Resource": "*",
			"Condition": object{"ForAllValues:StringLike": object{"sts:IdentityTokenAudience": t.audience()}}},
		object{"Sid": "ReadSecretsOfTheInstall", "Effect": "Allow",
			"Action": list{"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"},
			"Resource": join("arn:", ref("AWS::Partition"), ":secretsmanager:", ref("AWS::Region"), ":",
				ref("AWS::AccountId"),
				":secret:"+t.stack.Install.ID+"/*")},
		object{"Sid": "AttachTheDisk", "Effect": "Allow", "Action": "ec2:AttachVolume", "Resource": list{
			join("arn:", ref("AWS::Partition"), ":ec2:", ref("AWS::Region"), ":", ref("AWS::AccountId"), ":volume/",
				ref(runnerDisk)),
			join("arn:", ref("AWS::Partition"), ":ec2:", ref("AWS::Region"), ":", ref("AWS::AccountId"), ":instance/*")},
			"Condition": object{"StringEquals": object{"aws:ResourceTag/install.nuon.co/id": t.stack.Install.ID}}},
	}
	if len(t.stack.Roles) > 0 {
		var roles list
		for _, role := range t.stack.Roles {
			roles = append(roles, arn(ref("AWS::AccountId"), "role/"+installstack.FitRoleName(role.Key)))
		}
		statements = append(statements, object{"Sid": "AssumeRolesOfTheInstall", "Effect": "Allow",
			"Action": list{"sts:AssumeRole", "sts:TagSession"}, "Resource": roles})
	}
	t.addResource("RunnerPermissions", "AWS::IAM::Policy", object{
		"PolicyName": "runner", "Roles": list{ref("RunnerRole")},
		"PolicyDocument": object{"Version": "2012-10-17", "Statement": statements},
	})
	t.addOutput("runner_iam_role_arn", attribute("RunnerRole", "Arn"), "")
	t.addOutput("runner_instance_profile", ref("RunnerProfile"), "")
	t.addOutput("runner_asg_name", ref("RunnerGroup"), "")
}

// audience returns the pattern of the audiences that the machine asks identity tokens for.
func (t *template) audience() string {
	audience, err := cloudproof.Audience(t.stack.Runner.URL, "*")
	if err != nil {
		t.errorf("control plane", "start it with --runner-url", "%v", err)
	}
	return audience
}

// addRunnerDisk adds the disk with the runner's directory. Its keys are stored nowhere else, so it outlives machines,
// and a deleted stack leaves a snapshot.
func (t *template) addRunnerDisk(zone any) {
	disk := t.addResource(runnerDisk, "AWS::EC2::Volume", object{
		"AvailabilityZone": zone, "Size": 20, "VolumeType": "gp3", "Encrypted": true,
		"Tags": t.tags("Name", t.stack.Name+"-runner"),
	})
	disk["DeletionPolicy"], disk["UpdateReplacePolicy"] = "Snapshot", "Snapshot"
}

// addRunnerGroup adds the group of one machine.
func (t *template) addRunnerGroup(subnet any) {
	tags := t.tags("Name", t.stack.Name+"-runner")
	t.addResource("RunnerTemplate", "AWS::EC2::LaunchTemplate", object{"LaunchTemplateData": object{
		"ImageId": ref("RunnerImage"), "InstanceType": ref("InstanceType"),
		"IamInstanceProfile": object{"Arn": attribute("RunnerProfile", "Arn")},
		"MetadataOptions":    object{"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled"},
		"BlockDeviceMappings": list{object{"DeviceName": "/dev/xvda", "Ebs": object{
			"VolumeSize": ref("RootVolumeSize"), "VolumeType": "gp3", "Encrypted": true, "DeleteOnTermination": true}}},
		"SecurityGroupIds":                  list{attribute("RunnerSecurityGroup", "GroupId")},
		"InstanceInitiatedShutdownBehavior": "terminate",
		"TagSpecifications": list{object{"ResourceType": "instance", "Tags": tags},
			object{"ResourceType": "volume", "Tags": tags}},
		"UserData": object{"Fn::Base64": t.userData()},
	}})
	var propagated list
	for _, tag := range tags {
		tag := tag.(object)
		propagated = append(propagated, object{"Key": tag["Key"], "Value": tag["Value"], "PropagateAtLaunch": true})
	}
	group := t.addResource("RunnerGroup", "AWS::AutoScaling::AutoScalingGroup", object{
		"MinSize": "1", "MaxSize": "1", "DesiredCapacity": "1", "VPCZoneIdentifier": list{subnet},
		"LaunchTemplate": object{"LaunchTemplateId": ref("RunnerTemplate"),
			"Version": attribute("RunnerTemplate", "LatestVersionNumber")},
		"Tags": propagated,
	})
	depends := list{"RunnerPermissions"}
	if !t.stack.ExistingNetwork {
		depends = append(depends, "PrivateRoute", "RunnerSubnetRoutes")
	}
	group["DependsOn"] = depends
	// The disk can be attached to one machine, so the old one ends before the new one starts.
	group["UpdatePolicy"] = object{"AutoScalingRollingUpdate": object{"MaxBatchSize": 1, "MinInstancesInService": 0}}
}

// userData returns the script that a machine runs when it boots for the first time.
func (t *template) userData() object {
	r := t.stack.Runner
	parts := list{"#!/bin/bash\nrunner_url=" + shellQuote(r.URL) + "\ndownload_url=" + shellQuote(r.DownloadURL) +
		"\nsha256=" + shellQuote(r.SHA256) + "\nclaim=" + shellQuote(t.stack.Claim) +
		"\narguments=" + shellQuote(t.stack.RunnerArguments(roleName))}
	size := len(parts[0].(string))
	for _, v := range []struct {
		name  string
		value any
	}{
		{"region", ref("AWS::Region")}, {"volume", ref(runnerDisk)},
		{"registry", ref("Registry")}, {"registry_username", ref("RegistryUsername")},
		{"registry_secret", ifElse("HasRegistryPassword", ref("RegistryPasswordSecret"), "")},
	} {
		parts = append(parts, "\n"+v.name+"='", v.value, "'")
		size += len(v.name) + 256
	}
	rest := "\n" + bootScript + installstack.Unit("aws") +
		"END\nsystemctl daemon-reload\nsystemctl enable --now nuon-runner.service\nshutdown -c\n"
	if size += len(rest); size > maxUserData {
		t.report(diagnostic.Error, "runner", "shorten the address of the runner API",
			"the boot script has up to %d bytes, and AWS allows %d", size, maxUserData)
	}
	return join(append(parts, rest)...)
}
