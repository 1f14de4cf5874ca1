package main

// usageText stands behind what is wrong with a command line.
const usageText = `Usage: runnel [flags]
       runnel config | bench | healthcheck | version

runnel -h explains them.
`

// helpText is what runnel -h prints.
const helpText = `Runnel is a message server for NATS clients.

Usage:
  runnel [flags]                  run the server
  runnel config explain [KEY]     what the keys of the config file mean
  runnel bench ...                measure a server: runnel bench -h
  runnel healthcheck [--url URL]  exit 0 if a server is healthy
  runnel version

Examples:
  runnel                          clients on port 4222 of all addresses
  runnel -a 127.0.0.1 -m 8222     local only, http://127.0.0.1:8222 shows it
  runnel -c server.conf           what the file says
  runnel -c server.conf -p 4333   the file, but another port: flags win
  runnel -t -c server.conf        check the file and exit
  runnel --signal reload=run.pid  make a running server read its file again
  runnel -p -1 --ports_file_dir . any free port, written to a file

Flags may begin with one dash or two; -p 4222 and -p=4222 are the same.

Server:
  -a, --addr, --net HOST          address to listen on (0.0.0.0)
  -p, --port PORT                 port for clients (4222); -1 for a free one
  -n, --name, --server_name NAME  name of this server (its id)
  -c, --config FILE               config file
  -t                              check the config file and exit
  -m, --http_port PORT            monitoring by HTTP (off)
  -ms, --https_port PORT          monitoring by HTTPS (off)
  -P, --pid FILE                  write the process id to this file
      --ports_file_dir DIR        write bound ports to DIR/runnel_<pid>.ports
      --client_advertise HOST:PORT  where clients are told to connect
  -sl, --signal SIGNAL[=PID]      reload, reopen, ldm, quit, term or stop a
                                  running server; PID is a number or a pid file,
                                  and may be left out if one server runs

Log:
  -l, --log FILE                  log to a file instead of standard error
  -T, --logtime                   stamp lines with the time (true)
      --logtime_utc               in UTC instead of local time
  -s, --syslog                    log to the local syslog
  -r, --remote_syslog URL         log to a syslog, as udp://localhost:514
  -D, --debug                     log debug messages
  -V, --trace                     log the protocol of clients
  -VV                             and that of the system account
  -DV, -DVV                       -D with -V or -VV
      --log_size_limit BYTES      rotate the log file at this size
      --max_traced_msg_len BYTES  cut traced messages

Who may connect:
      --user USER --pass PASSWORD single user
      --auth TOKEN                single token
      --tls                       TLS for clients, with --tlscert and --tlskey
      --tlscert FILE --tlskey FILE  certificate and key of this server
      --tlsverify                 clients need a certificate
      --tlscacert FILE            roots for the certificates of clients
      --help_tls                  TLS step by step

Streams:
  -js, --jetstream                enable JetStream
  -sd, --store_dir DIR            folder of the streams

Cluster:
      --cluster URL, --cluster_listen URL  listen for other servers
      --cluster_name NAME         name of the cluster
      --routes URL,URL            servers to connect to
      --cluster_advertise HOST:PORT  where other servers are told to connect
      --no_advertise              do not tell clients about the cluster
      --connect_retries N         attempts to reach a server learned of

Other:
      --profile PORT              Go profiles by HTTP
  -h, --help                      this text
  -v, --version                   the version

Signals: TERM and INT end the server, HUP reloads the config file, USR1 reopens
the log file, USR2 sends clients away one by one and then ends.
`

// helpTLSText is what runnel --help_tls prints.
const helpTLSText = `TLS, step by step.

Encrypt connections. Clients check that the server's certificate is for the
name that they connect to:

  runnel --tls --tlscert server.pem --tlskey server-key.pem

Let only clients in that have a certificate signed by your own authority:

  runnel --tlsverify --tlscert server.pem --tlskey server-key.pem \
    --tlscacert ca.pem

The same in a config file, which can do more (runnel config explain tls):

  tls {
    cert_file: "server.pem"
    key_file:  "server-key.pem"
    ca_file:   "ca.pem"
    verify:    true
  }

A certificate to try it with, for localhost only:

  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout server-key.pem -out server.pem
  nats --server tls://localhost:4222 --tlsca server.pem rtt

Renewed certificates are read with a reload: runnel --signal reload
`
