variable "network" {
  type = string
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_vpc" "main" {
  cidr_block = var.network
}

output "vpc" {
  value = { id = aws_vpc.main.id }
}
