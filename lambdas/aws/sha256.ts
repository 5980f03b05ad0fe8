import { createHash, createHmac } from 'node:crypto';
import type { Checksum, SourceData } from '@smithy/types';

/** SHA-256 and its HMAC with node:crypto, in the interface that the SDK's signers expect. */
export class Sha256 implements Checksum {
  #hash;
  readonly #secret: SourceData | undefined;

  constructor(secret?: SourceData) {
    this.#secret = secret;
    this.#hash = hashOf(secret);
  }
  update(data: Uint8Array): void {
    this.#hash.update(data);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    this.#hash = hashOf(this.#secret);
  }
}

function hashOf(secret: SourceData | undefined) {
  if (secret === undefined) return createHash('sha256');
  if (typeof secret === 'string') return createHmac('sha256', secret);
  if (!ArrayBuffer.isView(secret)) return createHmac('sha256', new Uint8Array(secret));
  return createHmac('sha256', new Uint8Array(secret.buffer, secret.byteOffset, secret.byteLength));
}
