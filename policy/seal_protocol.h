/*
 * What the launcher and hl-seal say to each other over descriptor 3, a SOCK_SEQPACKET pair: one
 * packet a message, its type first, then the base codec. Each request has one answer; hl-seal ends
 * with the socket.
 *
 *	KEYGEN		u8 enum seal_passphrase, string name
 *	  MADE		bytes public key			the private key is in descriptor 4
 *	SIGN_POLICY	u8 enum seal_passphrase, bytes text
 *	  SIGNED	string name (or ""), bytes public key, bytes signature
 *	VERIFY		u32 n, n times: bytes text, bytes public key, bytes signature
 *	  VERIFIED	u32 n, n times u8: 1 = right
 *	  FAILED	string code, string message, string help
 *
 * A private key and its passphrase are never in a packet: hl-seal reads them from descriptors 4 and
 * 5. Checkpoints of the audit log will be a request of their own, because a key must sign no text
 * whose kind it was not asked for.
 */
#ifndef HL_POLICY_SEAL_PROTOCOL_H
#define HL_POLICY_SEAL_PROTOCOL_H

enum seal_message {
	SEAL_KEYGEN = 1,
	SEAL_SIGN_POLICY,
	SEAL_VERIFY,
	SEAL_MADE,
	SEAL_SIGNED,
	SEAL_VERIFIED,
	SEAL_FAILED,
	SEAL_MESSAGE_MAX
};

enum seal_passphrase {
	SEAL_PASSPHRASE_NONE,       /* a key that needs one is an error */
	SEAL_PASSPHRASE_DESCRIPTOR, /* the first line of descriptor 5 */
	SEAL_PASSPHRASE_TERMINAL,   /* descriptor 5 is the terminal: ask, without echo */
	SEAL_PASSPHRASE_MAX
};

enum {
	SEAL_CONTROL_FD = 3,
	SEAL_KEY_FD = 4,
	SEAL_PASSPHRASE_FD = 5,
	/* Every signature of a note over its text, which is at most 1 KiB. */
	SEAL_PACKET_MAX = 96 << 10,
	SEAL_KEY_FILE_MAX = 16 << 10,
};

#endif
