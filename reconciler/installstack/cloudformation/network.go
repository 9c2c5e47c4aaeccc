package cloudformation

import (
	"fmt"
)

// createNetwork is the condition under which the stack creates a network.
const createNetwork = "CreateNetwork"

// The tags by which sandboxes find subnets and the security group of the runner.
const (
	tagDomain     = "network.nuon.co/domain"
	tagVisibility = "visibility"
)

// network has the values of the network that the stack uses, created or existing.
type network struct {
	vpc, publicSubnets, privateSubnets, runnerSubnet, zone any
}

// addNetwork adds the parameters of an existing network and, unless the app requires one, the resources of a new one.
func (t *template) addNetwork() {
	n := t.addExistingNetwork()
	if !t.stack.ExistingNetwork {
		t.conditions[createNetwork] = equals(ref("VpcId"), "")
		n = t.addOwnNetwork(n)
	}
	t.addOutput("vpc_id", n.vpc, "")
	t.addOutput("public_subnets", n.publicSubnets, "")
	t.addOutput("private_subnets", n.privateSubnets, "")
	t.addOutput("runner_subnet", n.runnerSubnet, "")

	t.addResource("RunnerSecurityGroup", "AWS::EC2::SecurityGroup", object{
		"GroupDescription": "The runner of an install. It accepts no connections.",
		"VpcId":            n.vpc,
		"SecurityGroupEgress": list{object{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0",
			"Description": "The control plane, the cloud and registries"}},
		"Tags": t.tags("Name", t.stack.Name+"-runner", tagDomain, "runner"),
	})
	t.addOutput("runner_security_group_id", attribute("RunnerSecurityGroup", "GroupId"), "")
	t.addRunnerDisk(n.zone)
	t.addRunnerGroup(n.runnerSubnet)
}

// addExistingNetwork adds the parameters of a network that the customer has.
func (t *template) addExistingNetwork() network {
	suffix := ""
	if !t.stack.ExistingNetwork {
		suffix = " Leave it empty to create a network."
	}
	var names []string
	add := func(id, label, description, pattern string) any {
		properties := object{"AllowedPattern": "^" + pattern + "$"}
		if !t.stack.ExistingNetwork {
			properties = object{"AllowedPattern": "^(" + pattern + ")?$", "Default": ""}
		}
		names = append(names, t.addParameter(id, label, description+suffix, properties))
		return ref(id)
	}
	const subnet = "subnet-[0-9a-f]+"
	n := network{
		vpc: add("VpcId", "VPC", "Id of an existing VPC.", "vpc-[0-9a-f]+"),
		publicSubnets: add("PublicSubnetIds", "Public subnets", "Ids of its public subnets, separated by commas.",
			subnet+"(,"+subnet+")*"),
		privateSubnets: add("PrivateSubnetIds", "Private subnets", "Ids of its private subnets, separated by commas.",
			subnet+"(,"+subnet+")*"),
		runnerSubnet: add("RunnerSubnetId", "Subnet of the runner",
			"Id of a subnet from which the runner reaches the internet.", subnet),
		zone: add("RunnerAvailabilityZone", "Availability zone of that subnet", "Such as eu-central-1a.", "[a-z0-9-]+"),
	}
	if !t.stack.ExistingNetwork {
		names = append(names, t.addParameter("VpcCidr", "Addresses of a new network", "A block of 65,536 addresses.",
			object{"Default": "10.128.0.0/16", "AllowedPattern": `^[0-9]{1,3}\.[0-9]{1,3}\.0\.0/16$`}))
		t.addNetworkRule(names[1:5])
	}
	t.addGroup("Network", names)
	return n
}

// addNetworkRule adds a rule that an existing network has all its parts.
func (t *template) addNetworkRule(names []string) {
	var assertions list
	for _, id := range names {
		label := t.labels[id].(object)["default"]
		assertions = append(assertions, object{"Assert": not(equals(ref(id), "")),
			"AssertDescription": fmt.Sprintf("With an existing VPC, %q must be set.", label)})
	}
	t.rules["ExistingNetwork"] = object{"RuleCondition": not(equals(ref("VpcId"), "")), "Assertions": assertions}
}

// addOwnNetwork adds a network and returns it where the stack creates one, else the existing one.
func (t *template) addOwnNetwork(existing network) network {
	add := func(id, kind string, properties object) object {
		r := t.addResource(id, kind, properties)
		r["Condition"] = createNetwork
		return r
	}
	name := func(suffix string) list { return t.tags("Name", t.stack.Name+suffix) }
	add("Vpc", "AWS::EC2::VPC", object{"CidrBlock": ref("VpcCidr"), "EnableDnsSupport": true, "EnableDnsHostnames": true,
		"Tags": name("")})
	add("InternetGateway", "AWS::EC2::InternetGateway", object{"Tags": name("")})
	add("InternetAttachment", "AWS::EC2::VPCGatewayAttachment",
		object{"VpcId": ref("Vpc"), "InternetGatewayId": ref("InternetGateway")})
	add("NatAddress", "AWS::EC2::EIP", object{"Domain": "vpc", "Tags": name("-nat")})["DependsOn"] =
		list{"InternetAttachment"}
	add("NatGateway", "AWS::EC2::NatGateway", object{"AllocationId": attribute("NatAddress", "AllocationId"),
		"SubnetId": ref("PublicSubnet1"), "Tags": name("-nat")})

	routes := func(kind string, target object) {
		add(kind+"Routes", "AWS::EC2::RouteTable", object{"VpcId": ref("Vpc"), "Tags": name("-" + kind)})
		target["RouteTableId"], target["DestinationCidrBlock"] = ref(kind+"Routes"), "0.0.0.0/0"
		add(kind+"Route", "AWS::EC2::Route", target)["DependsOn"] = list{"InternetAttachment"}
	}
	routes("Public", object{"GatewayId": ref("InternetGateway")})
	routes("Private", object{"NatGatewayId": ref("NatGateway")})

	// Public subnets and that of the runner have 256 addresses each, private ones 4,096.
	small, large := object{"Fn::Cidr": list{ref("VpcCidr"), 4, 8}}, object{"Fn::Cidr": list{ref("VpcCidr"), 4, 12}}
	subnet := func(id, table string, zone int, block object, at int, tags ...string) {
		add(id, "AWS::EC2::Subnet", object{
			"VpcId": ref("Vpc"), "CidrBlock": object{"Fn::Select": list{at, block}},
			"AvailabilityZone":    object{"Fn::Select": list{zone, object{"Fn::GetAZs": ""}}},
			"MapPublicIpOnLaunch": table == "Public",
			"Tags":                t.tags(append([]string{"Name", t.stack.Name + "-" + id}, tags...)...),
		})
		add(id+"Routes", "AWS::EC2::SubnetRouteTableAssociation",
			object{"SubnetId": ref(id), "RouteTableId": ref(table + "Routes")})
	}
	var public, private list
	for i := range 3 {
		subnet(fmt.Sprintf("PublicSubnet%d", i+1), "Public", i, small, i, tagVisibility, "public", tagDomain, "public",
			"kubernetes.io/role/elb", "1")
		subnet(fmt.Sprintf("PrivateSubnet%d", i+1), "Private", i, large, i+1, tagVisibility, "private", tagDomain,
			"internal", "kubernetes.io/role/internal-elb", "1")
		public = append(public, ref(fmt.Sprintf("PublicSubnet%d", i+1)))
		private = append(private, ref(fmt.Sprintf("PrivateSubnet%d", i+1)))
	}
	subnet("RunnerSubnet", "Private", 0, small, 3, tagVisibility, "private", tagDomain, "runner")

	return network{
		vpc:            ifElse(createNetwork, ref("Vpc"), existing.vpc),
		publicSubnets:  ifElse(createNetwork, object{"Fn::Join": list{",", public}}, existing.publicSubnets),
		privateSubnets: ifElse(createNetwork, object{"Fn::Join": list{",", private}}, existing.privateSubnets),
		runnerSubnet:   ifElse(createNetwork, ref("RunnerSubnet"), existing.runnerSubnet),
		zone:           ifElse(createNetwork, attribute("RunnerSubnet", "AvailabilityZone"), existing.zone),
	}
}
