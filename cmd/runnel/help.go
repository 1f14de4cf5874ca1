package main

import _ "embed"

// The texts are files of their own, to be read and edited as they appear: at
// most 80 columns, examples before the lists. A test checks that the help
// names every flag.

// usageText stands behind what is wrong with a command line. It is short, so
// that the message before it stays in sight.
//
//go:embed usage.txt
var usageText string

// helpText is what runnel -h prints.
//
//go:embed help.txt
var helpText string

// helpTLSText is what runnel --help_tls prints.
//
//go:embed help_tls.txt
var helpTLSText string

// clusterHelp is what runnel cluster -h prints before its flags.
//
//go:embed help_cluster.txt
var clusterHelp string

// soakHelp is what runnel soak -h prints before its flags.
//
//go:embed help_soak.txt
var soakHelp string

// chaosHelp is what runnel chaos -h prints before its flags.
//
//go:embed help_chaos.txt
var chaosHelp string

// lagHelp is what runnel lag -h prints before its flags.
//
//go:embed help_lag.txt
var lagHelp string

// keyHelp is what runnel key -h prints before its flags.
//
//go:embed help_key.txt
var keyHelp string

// dlqHelp is what runnel dlq -h prints before its flags.
//
//go:embed help_dlq.txt
var dlqHelp string

// delayHelp is what runnel delay -h prints before its flags.
//
//go:embed help_delay.txt
var delayHelp string

// explainHelp is what runnel explain -h prints before its flags.
//
//go:embed help_explain.txt
var explainHelp string
