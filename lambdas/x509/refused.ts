import type { DecodeRefusalCode } from './certificate-request.ts';

/** Gives up on an input. Stays inside this room: `decodeCertificateRequest` turns it into a value. */
export class Refused extends Error {
  readonly code: DecodeRefusalCode;

  constructor(code: DecodeRefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}
