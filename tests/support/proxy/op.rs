//! Op codes of requests, in ZooKeeper's numbering. Several codes in one constant mean the same operation.

/// The first packet of every connection. It carries no op code, so this number is made up.
pub(crate) const CONNECT: &[i32] = &[CONNECT_CODE];
pub(crate) const CREATE: &[i32] = &[1, 15];
pub(crate) const CREATE_CONTAINER: &[i32] = &[19];
pub(crate) const DELETE: &[i32] = &[2];
pub(crate) const EXISTS: &[i32] = &[3];
pub(crate) const GET_DATA: &[i32] = &[4];
pub(crate) const SET_DATA: &[i32] = &[5];
pub(crate) const GET_CHILDREN: &[i32] = &[8, 12];
pub(crate) const SYNC: &[i32] = &[9];
pub(crate) const PING: &[i32] = &[11];
pub(crate) const MULTI: &[i32] = &[14];
pub(crate) const REMOVE_WATCHES: &[i32] = &[17, 18];
pub(crate) const AUTH: &[i32] = &[100];
pub(crate) const CLOSE: &[i32] = &[-11];

pub(super) const CONNECT_CODE: i32 = -10;
