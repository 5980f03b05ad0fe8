import { registerPerson } from './register.ts';

export const register = registerPerson('deny');
