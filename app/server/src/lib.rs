//! The one port of a server of Callgrove: gRPC and the JSON interface, behind one token and one certificate.
