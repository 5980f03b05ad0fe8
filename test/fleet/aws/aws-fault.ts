/** A refusal of an AWS service. Each service writes it in the shape of its own protocol. */
export class AwsFault extends Error {
  override readonly name = 'AwsFault';
  readonly status: number;
  /** What the service calls it: `ResourceNotFoundException`. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
